#!/usr/bin/env python3
"""run.py PROGRAM: run the seed tests and count which requirements they show.

A requirement is a line of rows.txt (`S0-1 ...`); its tests are those of suite S0 whose names begin with R1_. It is
met if all of them pass and there is at least one, and if it is not listed in open.txt. Exit code 0 if every test
passed and every row is either met or open; the last line is `RESULT s0=met/all s1=... s2=... s3=...`.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SEEDS = ["S0", "S1", "S2", "S3"]


def read_rows(path):
    """{row: text} of a list file, in its order."""
    rows = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        row, _, text = line.partition(" ")
        if not re.fullmatch(r"S[0-3]-\d+", row) or not text.strip() or row in rows:
            sys.exit(f"{path.name}:{number}: expected a new row and its text, as in 'S0-1 text': {line}")
        rows[row] = text.strip()
    return rows


def run_tests(program):
    """The program's exit code and (suite, test, state) of each test, state being pass, fail or skip."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run([program, f"--gtest_output=json:{report}", "--gtest_brief=1"], check=False)
        if not report.exists():
            sys.exit(f"{program} ended with code {done.returncode} and without a report")
        suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
    tests = []
    for suite in suites:
        for test in suite["testsuite"]:
            done_whole = test["result"] == "COMPLETED"
            state = "fail" if test.get("failures") else "pass" if done_whole else "skip"
            tests.append((suite["name"], test["name"], state))
    return done.returncode, tests


def row_of(suite, test):
    """The row a test belongs to; None for tests of rules and vectors that are no row."""
    match = re.match(r"R(\d+)_", test)
    return f"{suite}-{match.group(1)}" if match and suite in SEEDS else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = read_rows(HERE / "rows.txt")
    still_open = read_rows(HERE / "open.txt")
    if strangers := [row for row in still_open if row not in rows]:
        sys.exit(f"open.txt names rows that rows.txt has not: {', '.join(strangers)}")
    code, tests = run_tests(sys.argv[1])

    states = {row: [] for row in rows}
    others = dict.fromkeys(SEEDS, 0)
    for suite, test, state in tests:
        row = row_of(suite, test)
        if row in states:
            states[row].append(state)
        elif suite in SEEDS:
            others[suite] += 1

    missing = []
    met = {seed: [0, 0] for seed in SEEDS}
    print(f"{'row':<7}{'tests':>6}  {'state':<8}what")
    for row, text in rows.items():
        passed = states[row].count("pass")
        if "fail" in states[row]:
            state = "FAILED"
        elif row in still_open:
            state = "open"
        elif passed:
            state = "met"
        else:
            state = "MISSING"
        if state in ("FAILED", "MISSING"):
            missing.append(row)
        count = met[row.split("-")[0]]
        count[0] += state == "met"
        count[1] += 1
        print(f"{row:<7}{passed:>6}  {state:<8}{still_open[row] if state == 'open' else text}")
    print()
    for seed in SEEDS:
        own = sum(len(states[row]) for row in rows if row.startswith(seed + "-"))
        print(f"{seed}: {own} tests of rows, {others[seed]} of unified rules and vectors")
    if missing:
        print(f"neither shown by a passing test nor listed in open.txt: {', '.join(missing)}")
    sys.stdout.flush()
    print("RESULT " + " ".join(f"{seed.lower()}={count[0]}/{count[1]}" for seed, count in met.items()))
    sys.exit(1 if missing or code != 0 else 0)


if __name__ == "__main__":
    main()
