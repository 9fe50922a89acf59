"""Every verb of `callgate` in a pseudo-terminal of 80 columns: its help, and a call of it where one can be made.

Only what people read counts: keys, checkpoints and proofs are data, and are sent to files.
"""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata

COLUMNS = 80
MAIL = '{"to": ["ada@example.org"], "subject": "Hello"}'
LOST = '{"how": "lost", "message": "The connection was lost."}'


def in_terminal(command, env, cwd):
    """(exit code, lines) of a command whose output is a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    process = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env, cwd=cwd)
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        out += part
    os.close(ours)
    code = process.wait(timeout=60)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07", "", out.decode("utf-8", "replace"))
    return code, [line.split("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Walk:
    def __init__(self, callgate, home):
        self.env = {"HOME": home, "PATH": f"{os.path.dirname(os.path.abspath(callgate))}:/usr/bin:/bin", "LANG": "C.UTF-8",
                    "TERM": "xterm-256color", "TZ": "UTC", "NO_COLOR": "1"}
        self.home = home
        self.steps = self.passed = self.over = 0

    def step(self, command, *codes):
        code, lines = in_terminal(command, self.env, self.home)
        self.steps += 1
        if code in (codes or (0,)):
            self.passed += 1
        else:
            print(f"exit code {code}: {command}\n  " + "\n  ".join(lines[:6]))
        for line in lines:
            if width(line) > COLUMNS:
                self.over += 1
                print(f"{width(line)} columns: {command}: {line}")

    def ask(self, *words):
        ran = subprocess.run(["callgate", *words, "--json"], env=self.env, cwd=self.home, text=True, capture_output=True,
                             stdin=subprocess.DEVNULL)
        return json.loads(ran.stdout)

    def helps(self, words=()):
        """The help of a verb and of those below it."""
        command = " ".join(("callgate", *words, "--help"))
        self.step(command)
        text = subprocess.run(["callgate", *words, "--help"], env=self.env, cwd=self.home, text=True, capture_output=True).stdout
        verbs = re.search(r"^Verbs\n((?:  \S.*\n|   .*\n)+)", text, re.M)
        for verb in re.findall(r"^  ([a-z-]+)\s", verbs[1], re.M) if verbs else []:
            self.helps((*words, verb))

    def session(self):
        """One of everything, in an order in which each finds what it needs."""
        one = self.step
        one("callgate tools")
        one("callgate call add '{\"a\": 5, \"b\": 3}' --trace")
        one("callgate call add '{\"a\": 5}'", 3)
        one("callgate call notes '{\"name\": \"todo\"}' --action read", 3)
        one(f"callgate call send_mail '{MAIL}'", 4)
        one("callgate approvals list")
        first = self.ask("approvals", "list")["approvals"][0]
        one(f"callgate approvals show {first['id']}")
        one(f"callgate approvals approve {first['id']} --yes --digest {first['digest']}")
        one(f"callgate call --resume {first['call_id']}")
        one(f"callgate calls show {first['call_id']}")
        for verb in ("deny", "revoke"):
            one(f"callgate call send_mail '{MAIL}'", 4)
            one(f"callgate approvals {verb} {self.ask('approvals', 'list')['approvals'][0]['id']} --yes --reason no")
        one("callgate approvals list --state all")
        one("timeout -s INT 1 callgate approvals watch", 0, 124, 130)
        one("callgate operator show", 0, 2)
        one(f"callgate call fail '{LOST}' --key mail-12", 5)
        one("callgate calls list --unknown")
        lost = self.ask("calls", "list", "--unknown")["calls"][0]["call_id"]
        one(f"callgate calls resolve {lost} --not-applied --evidence 'not in the outbox' --yes")
        one(f"callgate calls show {lost}")
        one("callgate calls list")
        one("callgate audit tail -n 20")
        one("callgate audit show 2")
        one("callgate audit verify")
        one("callgate audit key > pinned.vkey")
        one("callgate audit checkpoint > witness.notes")
        one("callgate audit verify --key \"$(cat pinned.vkey)\" --witness witness.notes")
        one("callgate audit export -o audit.jsonl")
        one("callgate audit prove 1 > proof.json")
        one("callgate audit prove --check proof.json --key \"$(cat pinned.vkey)\"")
        one(f"callgate audit erase {lost} --yes")
        one("callgate audit rotate-key --yes")
        one("callgate audit archive --yes")
        one("callgate audit segments")
        one("callgate ledger stats")
        one("callgate ledger check")
        one("callgate ledger backup monday.db")
        one("callgate ledger gc")
        one("callgate ledger restore --yes", 0, 1)
        one("printf 'correct-horse-battery' | callgate secrets set github token")
        one("callgate secrets check github token")
        one("callgate secrets check")
        one("callgate policy lint -", 2)
        one("echo '{\"rules\": [{\"decision\": \"confirm\"}]}' > policy.json; callgate policy lint policy.json")
        one(f"echo '{{\"tool\": \"send_mail\", \"arguments\": {MAIL}}}' > call.json; callgate policy test --policy policy.json call.json", 4)
        one("callgate completion bash > completion.bash")
        one("callgate help calls")
        one("callgate version")
        one("callgate no-such-verb", 2)


def walk(callgate, home):
    """(steps, passed, lines over 80 columns)."""
    made = Walk(callgate, home)
    made.helps()
    made.session()
    return made.steps, made.passed, made.over


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory(prefix="callgate-verbs-") as scratch:
        steps, passed, over = walk(sys.argv[1], scratch)
    print(f"RESULT steps={passed}/{steps} lines_over_80={over}")
    sys.exit(0 if steps == passed and over == 0 else 1)
