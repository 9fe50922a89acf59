#!/usr/bin/env python3
"""What `make times` and the end of `make test` make of their logs."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import times  # noqa: E402

SUMMARY = Path(__file__).resolve().parent / "test_summary.py"


class Times(unittest.TestCase):
    def test_names_the_target_and_the_source_of_an_object(self):
        object_file = "tests/fault/CMakeFiles/crash.dir/lane.cpp.o"
        self.assertEqual(times.target_of(object_file), "crash")
        self.assertEqual(times.source_of(object_file), "tests/fault/lane.cpp")
        self.assertEqual(times.source_of("CMakeFiles/callgate.dir/src/json/text.cpp.o"), "src/json/text.cpp")
        self.assertIsNone(times.source_of("bin/callgate"))
        self.assertEqual(times.target_of("bin/callgate"), "callgate (link)")

    def test_takes_the_last_build_of_an_output(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / ".ninja_log").write_text("# ninja log v5\n0\t1000\t1\ta.o\tx\n5\t505\t1\ta.o\tx\n")
            self.assertEqual(times.ninja_times(Path(folder)), {"a.o": 0.5})

    def test_a_tree_without_a_build_has_no_times(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(times.ninja_times(Path(folder)), {})
            self.assertEqual(times.lanes_of(Path(folder)), [])


class Summary(unittest.TestCase):
    def summary(self, log, no_skips=False):
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder) / "build" / "asan"
            (build / "results").mkdir(parents=True)
            (build / "ctest.log").write_text(log)
            cases = [{"name": "A", "status": "RUN", "result": "COMPLETED"},
                     {"name": "B", "status": "RUN", "result": "SKIPPED"},
                     {"name": "C", "status": "NOTRUN", "result": "SUPPRESSED"}]
            report = {"testsuites": [{"name": "Suite", "testsuite": cases}]}
            (build / "results" / "x_test.json").write_text(json.dumps(report))
            environment = {key: value for key, value in os.environ.items() if key != "CALLGATE_NO_SKIPS"}
            if no_skips:
                environment["CALLGATE_NO_SKIPS"] = "1"
            return subprocess.run([sys.executable, "-B", str(SUMMARY), "asan"], cwd=folder, env=environment,
                                  capture_output=True, text=True)

    GREEN = "100% tests passed, 0 tests failed out of 2\n"
    SKIPPED = "2/2 Test  #2: schema_suite .........***Skipped   0.01 sec\n" + GREEN

    def test_counts_the_cases_that_ran_and_names_the_others(self):
        answer = self.summary(self.GREEN, no_skips=True)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("asan: 100% tests passed, 0 tests failed out of 2; 1 cases in them", answer.stdout)
        self.assertIn("skipped Suite.B (x_test)", answer.stdout)

    def test_a_skipped_test_is_a_failure_only_where_nothing_may_be_missing(self):
        self.assertEqual(self.summary(self.SKIPPED).returncode, 0)
        answer = self.summary(self.SKIPPED, no_skips=True)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("schema_suite", answer.stderr)


if __name__ == "__main__":
    unittest.main()
