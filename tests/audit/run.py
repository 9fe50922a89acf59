#!/usr/bin/env python3
"""run.py PROGRAM [--trials N] [--seed N] [--sample N] [--events N] [--crash-logs DIR --callgate PROGRAM]: attack audit
logs, and see both verifiers find it.

PROGRAM is audit_attacks. A sample of each class of attacks (three logs a trial: attacked with the witness, attacked
without, untouched) is verified again by tools/audit_verify.py, which must say the same of every log: the verdict, the
kind and the place of the first fault, and every count. With --crash-logs the exports that `crash --keep` has left, of ledgers
whose owners were killed again and again, are verified by both, too: neither may find a fault in them. The last line is
the RESULT; exit code 0 if all is as it must be.
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


def verify_crash_logs(folder, callgate):
    """How many there are, how often one of the two raised an alarm, and how often they did not agree."""
    logs = sorted(folder.glob("*.jsonl"))
    alarms = disagree = 0
    for log in logs:
        reports = []
        for command in (
            [callgate, "audit", "verify", "--from-export", str(log), "--json"],
            [sys.executable, "-B", str(ROOT / "tools" / "audit_verify.py"), str(log), "--json"],
        ):
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            reports.append({"log": log.name, **json.loads(run.stdout)})
        ours, other = map(comparable, reports)
        alarms += any(report["verdict"] == "broken" for report in reports)
        if ours != other:
            disagree += 1
            print(f"  they disagree about {log.name}:\n    {reports[0]}\n    {reports[1]}")
    return len(logs), alarms, disagree


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--crash-logs", type=pathlib.Path)
    parser.add_argument("--callgate")
    options = parser.parse_args()
    if options.crash_logs and not options.callgate:
        parser.error("--crash-logs needs --callgate")

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

    crash_logs = crash_alarms = 0
    if options.crash_logs:
        crash_logs, crash_alarms, differ = verify_crash_logs(options.crash_logs, options.callgate)
        disagree += differ
        if crash_logs == 0:
            sys.exit(f"there are no logs in {options.crash_logs}")

    percent = 100 * counts["detected"] / counts["trials"]
    print(
        f"RESULT attacks={counts['attacks']} trials={counts['trials']} detected_pct={percent:.4g} "
        f"undetectable_without_witness={counts['undetectable_without_witness']} "
        f"false_alarms={counts['false_alarms'] + crash_alarms} crash_logs={crash_logs} verifiers_disagree={disagree} "
        f"logs_compared={len(expected) + crash_logs} verify_events_per_s={counts['verify_events_per_s']}"
    )
    good = attacks.returncode == 0 and second.returncode == 0 and len(expected) == len(found)
    return 0 if good and disagree == 0 and crash_alarms == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
