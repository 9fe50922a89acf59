#!/usr/bin/env python3
"""policies_test.py CALLGATE: the sample policies of docs/guide/policies are clean for the linter and decide as they say."""
import json
import pathlib
import subprocess
import sys

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/policies"
DAY, EVENING, NIGHT = "2026-05-14T10:00:00Z", "2026-05-14T17:00:00Z", "2026-05-14T23:00:00Z"


def mail(*to):
    return {"to": list(to), "subject": "Hi"}


# policy, call, the gate's decision, the rule that made it, the risk
CASES = [
    ("cautious", {"tool": "add", "arguments": {"a": 1, "b": 2}}, "allow", "reads-run", "low"),
    ("cautious", {"tool": "fail", "arguments": {}}, "confirm", "a-person-decides", "low"),
    ("cautious", {"tool": "send_mail", "arguments": mail("a@example.org")}, "confirm", "a-person-decides", "high"),
    ("cautious", {"tool": "send_mail", "arguments": mail("a@example.org", "b@example.org")}, "deny", "nothing-critical", "critical"),
    ("office-hours", {"tool": "send_mail", "time": DAY, "arguments": mail("a@example.org")}, "allow", "mail-inside", "high"),
    ("office-hours", {"tool": "send_mail", "time": DAY, "arguments": mail("a@elsewhere.org")}, "confirm", "the-rest", "high"),
    ("office-hours", {"tool": "send_mail", "time": DAY, "autonomy": "A4", "arguments": mail(*["a@example.org"] * 6)}, "confirm", "mail-to-many", "critical"),
    ("office-hours", {"tool": "send_mail", "time": EVENING, "arguments": mail("a@example.org")}, "deny", "", "critical"),
    ("office-hours", {"tool": "add", "time": NIGHT, "arguments": {"a": 1, "b": 2}}, "confirm", "the-rest", "medium"),
    ("batch-agent", {"tool": "notes", "action": "write", "principal": "agent-7", "scopes": ["notes"], "arguments": {"name": "a", "text": "b"}}, "allow", "notes", "medium"),
    ("batch-agent", {"tool": "notes", "action": "delete", "principal": "agent-7", "scopes": ["notes"], "arguments": {"name": "a"}}, "deny", "no-deletes", "high"),
    ("batch-agent", {"tool": "add", "principal": "guest-1", "arguments": {"a": 1, "b": 2}}, "deny", "only-the-agent", "low"),
    ("batch-agent", {"tool": "add", "principal": "agent-7", "arguments": {"a": 1, "b": 2}}, "allow", "reads", "low"),
    ("batch-agent", {"tool": "send_mail", "principal": "agent-7", "arguments": mail("a@example.org")}, "preview", "the-rest", "high"),
    ("batch-agent", {"tool": "send_mail", "autonomy": "A3", "principal": "agent-7", "arguments": mail("a@example.org")}, "deny", "", "high"),
]


def main():
    callgate = sys.argv[1]
    faults = 0
    samples = sorted(SAMPLES.glob("*.json"))
    for sample in samples:
        lint = subprocess.run([callgate, "policy", "lint", sample], text=True, capture_output=True)
        if lint.returncode != 0:
            faults += 1
            print(f"{sample.name}: {lint.stdout}{lint.stderr}")
    if {case[0] for case in CASES} != {sample.stem for sample in samples} or len(samples) < 3:
        faults += 1
        print("every sample needs cases, and every case a sample")
    for name, call, gate, rule, risk in CASES:
        ran = subprocess.run([callgate, "policy", "test", "--json", "--policy", SAMPLES / f"{name}.json", "-"],
                             input=json.dumps(call), text=True, capture_output=True)
        decision = json.loads(ran.stdout).get("decision") or {}
        found = tuple(decision.get(key) for key in ("gate", "rule", "risk"))
        if found != (gate, rule or None, risk):
            faults += 1
            print(f"{name}: {json.dumps(call)}: {found} instead of {(gate, rule, risk)}")
    print(f"{len(samples)} policies, {len(CASES)} decisions, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
