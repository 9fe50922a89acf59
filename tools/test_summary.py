#!/usr/bin/env python3
"""test_summary.py PRESET...: how many tests ran in each lane, how many were skipped, and why.

Counts what ctest started (build/PRESET/ctest.log) and the cases inside (build/PRESET/results/*.xml, which GoogleTest and
tests/cli/harness.py write), and names every skip with its reason: of a case, what it says; of a test that ended with 77, the
last line that it printed. With CALLGATE_NO_SKIPS set a skip is a failure: something that it needs is not on the machine. A
reason that begins with one of MARKS is none of the machine's: what can be tested depends on how it was built and who runs it.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

MARKS = ("not in this build: ", "not as this user: ")


def cases(results):
    """The cases in the reports: how many ran, and [(name, reason)] of those that were skipped."""
    ran, skipped = 0, []
    for report in sorted(results.glob("*.xml")):
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if case.get("result") == "skipped":
                told = case.find("skipped")
                lines = (told.get("message") if told is not None else "").splitlines()
                # GoogleTest says first where it stands.
                if lines and re.fullmatch(r"\S+:\d+", lines[0]):
                    lines = lines[1:]
                name = f"{case.get('classname')}.{case.get('name')} ({report.stem})"
                skipped.append((name, " ".join(lines).strip() or "no reason given"))
            elif case.get("status") == "run":
                ran += 1
    return ran, skipped


def skipped_by_ctest(log, output):
    """[(name, reason)] of the tests that ended with 77. `output` is all that ctest wrote down: its LastTest.log."""
    skipped = []
    for name in re.findall(r"Test +#\d+: (\S+) .*\*\*\*Skipped", log):
        found = re.search(rf"^\d+/\d+ Test: {re.escape(name)}\n.*?^Output:\n-+\n(.*?)\n<end of output>$", output, re.M | re.S)
        lines = [line.strip() for line in found[1].splitlines() if line.strip()] if found else []
        skipped.append((name, lines[-1] if lines else "no reason given"))
    return skipped


def main(presets):
    failures = []
    for preset in presets:
        build = Path("build") / preset
        log = (build / "ctest.log").read_text()
        output = build / "Testing/Temporary/LastTest.log"
        ran, skipped = cases(build / "results")
        skipped += skipped_by_ctest(log, output.read_text(errors="replace") if output.exists() else "")
        verdict = re.search(r"^.*tests passed.*$", log, re.M)
        print(f"{preset}: {verdict.group(0) if verdict else 'no verdict'}; {ran:,} cases in them")
        for name, reason in skipped:
            print(f"{preset}: skipped {name}: {reason}")
            if not reason.startswith(MARKS):
                failures.append(f"{name}: {reason}")
    if failures and os.environ.get("CALLGATE_NO_SKIPS"):
        print("FAILED: CALLGATE_NO_SKIPS is set, and these were skipped:\n  " + "\n  ".join(failures), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["asan"]))
