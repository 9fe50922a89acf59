#!/usr/bin/env python3
"""The end of `make test` names every skip, and continuous integration lets none pass that is the machine's fault."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.sax.saxutils import quoteattr

SUMMARY = Path(__file__).resolve().parent / "test_summary.py"
GREEN = "100% tests passed, 0 tests failed out of 2\n"
SKIPPED = "2/2 Test  #2: schema_suite .........***Skipped   0.01 sec\n" + GREEN
OUTPUT = """Start testing: Nov 19 04:00 UTC
----------------------------------------------------------
1/2 Testing: other
1/2 Test: other
Command: "other"
Output:
----------------------------------------------------------
another's output
<end of output>
Test time =   0.01 sec
----------------------------------------------------------
2/2 Testing: schema_suite
2/2 Test: schema_suite
Command: "run.sh"
Output:
----------------------------------------------------------
a line before
%s
<end of output>
Test time =   0.01 sec
"""


class Summary(unittest.TestCase):
    def summary(self, log=GREEN, reason=None, output=None, no_skips=True):
        """Of two cases that ran, one that is switched off and, with a reason, one that was skipped."""
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder) / "build" / "asan"
            for name in ("results", "Testing/Temporary"):
                (build / name).mkdir(parents=True)
            (build / "ctest.log").write_text(log)
            if output is not None:
                (build / "Testing/Temporary/LastTest.log").write_text(OUTPUT % output)
            skipped = "" if reason is None else f"""
                <testcase name="B" status="run" result="skipped" classname="Suite"><skipped message={quoteattr(reason,
                    {chr(10): "&#x0A;"})}/></testcase>"""
            (build / "results" / "x_test.xml").write_text(f"""<?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="AllTests"><testsuite name="Suite">
                <testcase name="A" status="run" result="completed" classname="Suite"/>
                <testcase name="D" status="run" result="completed" classname="Suite"/>{skipped}
                <testcase name="C" status="notrun" result="suppressed" classname="Suite"/>
                </testsuite></testsuites>""")
            environment = {key: value for key, value in os.environ.items() if key != "CALLGATE_NO_SKIPS"}
            if no_skips:
                environment["CALLGATE_NO_SKIPS"] = "1"
            return subprocess.run([sys.executable, "-B", str(SUMMARY), "asan"], cwd=folder, env=environment,
                                  capture_output=True, text=True)

    def refuses(self, text, **how):
        """It is named whatever is asked, and a failure where nothing may be missing."""
        answer = self.summary(**how, no_skips=False)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn(f"asan: skipped {text}\n", answer.stdout)
        answer = self.summary(**how)
        self.assertEqual(answer.returncode, 1, answer.stdout)
        self.assertIn(text, answer.stderr)

    def test_counts_the_cases_that_ran(self):
        answer = self.summary()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(answer.stdout, "asan: 100% tests passed, 0 tests failed out of 2; 2 cases in them\n")

    def test_a_case_that_lacks_something_is_named_and_a_failure(self):
        self.refuses("Suite.B (x_test): zsh is not on this machine", reason="zsh is not on this machine")
        self.refuses("Suite.B (x_test): zsh is not here", reason="/src/a_test.cpp:41\nzsh is not here")
        self.refuses("Suite.B (x_test): no reason given", reason="")

    def test_a_test_that_lacks_something_is_named_and_a_failure(self):
        self.refuses("schema_suite: There is no suite here", log=SKIPPED, output="There is no suite here")
        self.refuses("schema_suite: no reason given", log=SKIPPED)

    def test_what_only_another_build_or_user_can_test_is_named(self):
        for reason in ("not in this build: it has no failpoints", "not as this user: root may read everything"):
            for how in ({"reason": reason}, {"reason": f"/src/a_test.cpp:41\n{reason}"}, {"log": SKIPPED, "output": reason}):
                answer = self.summary(**how)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertIn(f": {reason}\n", answer.stdout)

    def test_a_mark_inside_a_reason_is_none(self):
        self.refuses("Suite.B (x_test): zsh is not in this build: gone", reason="zsh is not in this build: gone")


class Harness(unittest.TestCase):
    """What unittest skips in the tests of the program is reported, too."""

    SCRIPT = """
import sys, unittest
sys.path.insert(0, %r)
import harness
class Shells(unittest.TestCase):
    def test_bash(self): pass
    def test_zsh(self): self.skipTest("zsh is not on this machine")
    @unittest.skip("not as this user: root may")
    def test_mode(self): pass
    def test_fails(self): %s
harness.main("usage")
"""

    def run_script(self, statement):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text(self.SCRIPT % (str(SUMMARY.parents[1] / "tests/cli"), statement))
            build = Path(folder) / "build" / "asan"
            build.mkdir(parents=True)
            (build / "ctest.log").write_text(GREEN)
            ran = subprocess.run([sys.executable, "-B", script, "/bin/true", "--results", build / "results/cli.Shells.xml"],
                                 capture_output=True, text=True)
            return ran.returncode, subprocess.run([sys.executable, "-B", str(SUMMARY), "asan"], cwd=folder, capture_output=True,
                                                  text=True, env={**os.environ, "CALLGATE_NO_SKIPS": "1"})

    def test_its_skips_are_named_and_judged(self):
        code, answer = self.run_script("pass")
        self.assertEqual((code, answer.returncode), (0, 1), answer.stderr)
        self.assertIn("; 2 cases in them", answer.stdout)
        self.assertIn("skipped Shells.test_zsh (cli.Shells): zsh is not on this machine\n", answer.stdout)
        self.assertIn("skipped Shells.test_mode (cli.Shells): not as this user: root may\n", answer.stdout)
        self.assertIn("Shells.test_zsh", answer.stderr)
        self.assertNotIn("test_mode", answer.stderr)

    def test_a_case_that_fails_is_still_a_failure(self):
        self.assertEqual(self.run_script("self.fail()")[0], 1)


if __name__ == "__main__":
    unittest.main()
