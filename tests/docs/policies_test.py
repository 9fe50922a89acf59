#!/usr/bin/env python3
"""policies_test.py CALLGATE: the sample policies of docs/guide/policies are clean for the linter and decide as they say."""
import json
import pathlib
import re
import subprocess
import sys

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide"
SAMPLES = GUIDE / "policies"
PAGE = GUIDE / "policy.md"
DAY, EVENING, NIGHT = "2026-05-14T10:00:00Z", "2026-05-14T17:00:00Z", "2026-05-14T23:00:00Z"


def mail(*to):
    return {"to": list(to), "subject": "Hi"}


def note(action):
    return {"tool": "notes", "action": action, "scopes": ["notes"], "principal": "agent-7",
            "arguments": {"name": "a", **({"text": "b"} if action == "write" else {})}}


def sent(time, *to, **more):
    return {"tool": "send_mail", "time": time, "arguments": mail(*to), **more}


# What introduces a sentence, or is another's: it needs no case of its own.
WITHOUT_A_CASE = {"mail by day", "critical calls too", "an agent without a person beside it", "with limits"}
OWN, OTHER = "a@example.org", "b@elsewhere.org"
ADD = {"tool": "add", "time": DAY, "arguments": {"a": 1, "b": 2}}
AGENT = {"principal": "agent-7"}

# policy, a sentence of docs/guide/policy.md, a call it speaks of, the gate at A0 and at A1 to A4, the rule, how many people
CASES = [
    ("cautious", "reads of low risk run", ADD, "preview", "allow", "reads-run", 0),
    ("cautious", "critical calls are denied", sent(DAY, OWN, OTHER), "deny", "deny", "", 0),
    ("cautious", "everything else is decided by a person", {"tool": "fail", "arguments": {}}, "preview", "confirm", "a-person-decides", 1),
    ("cautious", "everything else is decided by a person", sent(DAY, OWN), "preview", "confirm", "a-person-decides", 1),
    ("office-hours", "free to one's own people, up to five", sent(DAY, OWN), "preview", "allow", "mail-inside", 0),
    ("office-hours", "free to one's own people, up to five", sent(DAY, *[OWN] * 5), "preview", "allow", "mail-inside", 0),
    ("office-hours", "one person decides where others are among them", sent(DAY, OTHER), "preview", "confirm", "the-rest", 1),
    ("office-hours", "one person decides where others are among them", sent(DAY, OWN, OTHER), "preview", "confirm", "the-rest", 1),
    ("office-hours", "two people for more than five", sent(DAY, *[OWN] * 6), "preview", "confirm", "mail-to-many", 2),
    ("office-hours", "two people for more than five", sent(DAY, *[OTHER] * 6), "preview", "confirm", "mail-to-many", 2),
    ("office-hours", "mail at night is denied", sent(EVENING, OWN), "deny", "deny", "mail-at-night", 0),
    ("office-hours", "mail at night is denied", sent(NIGHT, *[OWN] * 6), "deny", "deny", "mail-at-night", 0),
    ("office-hours", "everything else is decided by a person", ADD, "preview", "confirm", "the-rest", 1),
    ("office-hours", "everything else is decided by a person", {**note("delete"), "time": NIGHT}, "preview", "confirm", "the-rest", 1),
    ("batch-agent", "its notes and all reads run", note("write"), "preview", "allow", "notes", 0),
    ("batch-agent", "its notes and all reads run", ADD, "preview", "allow", "reads", 0),
    ("batch-agent", "guests and deletions are denied", {**ADD, "principal": "guest-1"}, "deny", "deny", "only-the-agent", 0),
    ("batch-agent", "guests and deletions are denied", note("delete"), "deny", "deny", "no-deletes", 0),
    ("batch-agent", "critical calls are denied", sent(DAY, OWN, OTHER, **AGENT), "preview", "deny", "", 0),
    ("batch-agent", "everything else is previewed", sent(DAY, OWN, **AGENT), "preview", "preview", "the-rest", 0),
    ("batch-agent", "everything else is previewed", {**note("write"), "principal": "ada"}, "preview", "preview", "the-rest", 0),
]


def sentences():
    """What the page says of each sample: the parts of its row in the table."""
    said = {}
    for line in PAGE.read_text().splitlines():
        row = re.match(r"\| \[(.+)\.json\]\(policies/.+\) \| (.+) \|$", line)
        if row:
            said[row[1]] = row[2]
    return said


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
    said = sentences()
    for name in {case[0] for case in CASES}:
        left = said.get(name, "")
        for sentence in sorted({case[1] for case in CASES if case[0] == name}, key=len, reverse=True):
            if sentence not in left:
                faults += 1
                print(f"{name}: the page does not say: {sentence}")
            left = left.replace(sentence, "")
        left = set(re.split(r"[;:,] ?", left)) - {""}
        if left - WITHOUT_A_CASE:
            faults += 1
            print(f"{name}: no case for: {left - WITHOUT_A_CASE}")
    for name, sentence, call, at_a0, gate, rule, people in CASES:
        for level in range(5):
            expected = (at_a0 if level == 0 else gate, people if level else 0)
            ran = subprocess.run([callgate, "policy", "test", "--json", "--policy", SAMPLES / f"{name}.json", "-"],
                                 input=json.dumps({**call, "autonomy": f"A{level}"}), text=True, capture_output=True)
            decision = json.loads(ran.stdout).get("decision") or {}
            found = (decision.get("gate"), decision.get("approvals"))
            if found != expected or (level and rule and decision.get("rule") != rule):
                faults += 1
                print(f"{name}, {sentence}, at A{level}: {json.dumps(call)}: {found} by {decision.get('rule')}, not {expected} by {rule}")
    print(f"{len(samples)} policies, {5 * len(CASES)} decisions, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
