#!/usr/bin/env python3
"""run.py PROGRAM [--trials N] [--seed N] [--sample N] [--events N]: attack audit logs, and see both verifiers find it.

PROGRAM is audit_attacks. A sample of each class of attacks (three logs a trial: attacked with the witness, attacked
without, untouched) is verified again by tools/audit_verify.py, which must say the same of every log: the verdict, the
kind and the place of the first fault, and every count. The last line is the RESULT; exit code 0 if all is as it must be.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def comparable(report):
    """What both have to agree on: all but the wording."""
    fault = report.get("fault")
    same = {name: value for name, value in report.items() if name not in ("fault", "first_open_calls")}
    # After a fault the two may have come to different points of the same record.
    if fault:
        same = {"log": same["log"], "verdict": same["verdict"]}
        same["fault"] = (fault["kind"], fault["sequence"])
    return same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--events", type=int, default=0)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        numbers = [f"--{name}={getattr(options, name)}" for name in ("trials", "seed", "sample", "events")]
        arguments = [part for number in numbers for part in number.split("=")]
        attacks = subprocess.run(
            [options.program, *arguments, "--out", folder], stdout=subprocess.PIPE, text=True, check=False
        )
        print(attacks.stdout, end="", flush=True)
        if not attacks.stdout.endswith("}\n"):
            sys.exit(f"{options.program} ended with code {attacks.returncode} and without its counts")
        counts = json.loads(attacks.stdout.splitlines()[-1])

        expected = [json.loads(line) for line in (pathlib.Path(folder) / "expected.jsonl").open()]
        script = [sys.executable, "-B", str(ROOT / "tools" / "audit_verify.py"), "--batch", folder]
        second = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=False)
        found = {report["log"]: report for report in map(json.loads, second.stdout.splitlines())}
        disagree = 0
        for report in expected:
            other = found.get(report["log"])
            if other is None or comparable(other) != comparable(report):
                disagree += 1
                print(f"  they disagree about {report['log']}:\n    {report}\n    {other}")

    percent = 100 * counts["detected"] / counts["trials"]
    print(
        f"RESULT attacks={counts['attacks']} trials={counts['trials']} detected_pct={percent:.4g} "
        f"undetectable_without_witness={counts['undetectable_without_witness']} "
        f"false_alarms={counts['false_alarms']} verifiers_disagree={disagree} "
        f"logs_compared={len(expected)} verify_events_per_s={counts['verify_events_per_s']}"
    )
    good = attacks.returncode == 0 and disagree == 0 and len(expected) == len(found) and second.returncode == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
