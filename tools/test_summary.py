#!/usr/bin/env python3
"""test_summary.py PRESET...: how many tests ran in each lane, how many were skipped, and why.

Counts what ctest started (build/PRESET/ctest.log) and the cases inside (build/PRESET/results/*.json). With
CALLGATE_NO_SKIPS set, a test that ctest calls skipped is a failure: something that it needs is not on the machine.
"""
import json
import os
import re
import sys
from pathlib import Path


def cases(results):
    """The cases in GoogleTest's reports: how many ran, and the reasons of those that were skipped."""
    ran, skipped = 0, {}
    for report in sorted(results.glob("*.json")):
        for suite in json.loads(report.read_text()).get("testsuites", []):
            for case in suite["testsuite"]:
                if case.get("result") == "SKIPPED":
                    skipped[f"{suite['name']}.{case['name']}"] = report.stem
                elif case.get("status") == "RUN":
                    ran += 1
    return ran, skipped


def skipped_by_ctest(log):
    return re.findall(r"Test +#\d+: (\S+) .*\*\*\*Skipped", log)


def main(presets):
    failures = []
    for preset in presets:
        build = Path("build") / preset
        log = (build / "ctest.log").read_text()
        ran, skipped = cases(build / "results")
        verdict = re.search(r"^.*tests passed.*$", log, re.M)
        print(f"{preset}: {verdict.group(0) if verdict else 'no verdict'}; {ran:,} cases in them")
        for name, report in skipped.items():
            print(f"{preset}: skipped {name} ({report})")
        for name in skipped_by_ctest(log):
            print(f"{preset}: skipped {name}")
            failures.append(name)
    if failures and os.environ.get("CALLGATE_NO_SKIPS"):
        print(f"FAILED: CALLGATE_NO_SKIPS is set and these were skipped: {', '.join(failures)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["asan"]))
