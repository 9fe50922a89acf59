"""Every verb's help and every list at a terminal of 80 columns.

walk(binary, directory) runs the program in a pseudo-terminal: first the help of every verb, which it finds from
`callgate help` on, then the verbs themselves on a ledger of their own, with names and texts that are longer than a
terminal is wide. It returns a Walk: how many steps were taken, which of them did not end as they should, and the lines
that are too wide. Nothing here waits for a time to pass.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import unicodedata

COLUMNS = 80
QUESTION = b"[y/N] "
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def width(line):
    """Columns of a line on a terminal."""
    line = COLOUR.sub("", line)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def at_terminal(binary, arguments, columns=COLUMNS, env=None, typed=b""):
    """What the program shows at a terminal of its own, and its exit code. `typed` answers its question.
    OSError where there are no terminals."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [binary, *map(str, arguments)],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(env or {})},
        start_new_session=True,
    )
    os.close(side)
    text = b""
    # The end of a terminal whose other side is closed is an error on Linux.
    with contextlib.suppress(OSError):
        while block := os.read(main, 65536):
            text += block
            # What is typed before the question is forgotten.
            if typed and text.endswith(QUESTION):
                os.write(main, typed)
                typed = b""
    os.close(main)
    return process.wait(), text.decode().replace("\r\n", "\n")


def verbs_in(help_text):
    """The names under "Verbs" of a help text."""
    names = []
    listed = False
    for line in help_text.splitlines():
        if line == "Verbs":
            listed = True
        elif not line:
            listed = False
        elif listed and (match := re.match(r"  ([a-z][a-z-]*)(  |$)", line)):
            names.append(match.group(1))
    return names


class Walk:
    def __init__(self, binary, directory, columns=COLUMNS):
        self.binary = str(binary)
        self.dir = pathlib.Path(directory)
        self.columns = columns
        self.ledger = str(self.dir / "ledger")
        self.env = {
            "CALLGATE_LEDGER": self.ledger,
            "CALLGATE_SECRETS": str(self.dir / "secrets"),
            "XDG_STATE_HOME": str(self.dir / "state"),
            "XDG_CONFIG_HOME": str(self.dir / "config"),
        }
        self.steps = 0
        self.failed = []
        self.too_wide = []
        self.verbs = []  # every verb that does something, as a list of words

    def look(self, *arguments, codes=(0,), typed=b"", note=True):
        """One step: the program at the terminal."""
        code, text = at_terminal(self.binary, arguments, self.columns, self.env, typed)
        self.steps += 1
        if code not in codes or typed and QUESTION.decode() not in text:
            self.failed.append(f"{' '.join(map(str, arguments))}: exit code {code}\n{text}")
        if note:
            self.too_wide += [
                f"{' '.join(map(str, arguments))}: {line}" for line in text.splitlines() if width(line) > self.columns
            ]
        return text

    def prepare(self, *arguments, stdin=b""):
        """The program without a terminal; what it writes."""
        self.steps += 1
        ran = subprocess.run(
            [self.binary, *map(str, arguments)], input=stdin, capture_output=True, env={**os.environ, **self.env}, check=False
        )
        return ran.stdout.decode()

    def json(self, *arguments):
        return json.loads(self.prepare(*arguments, "--json"))

    def file(self, name, content):
        path = self.dir / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def help(self, *words):
        """The help of a verb and of those below it, both ways to ask for it."""
        text = self.look("help", *words)
        if text != self.look(*words, "--help"):
            self.failed.append(f"help {' '.join(words)} and {' '.join(words)} --help differ")
        below = verbs_in(text)
        if not below and words:
            self.verbs.append(words)
        for verb in below:
            self.help(*words, verb)

    def lists(self):
        """Every verb that answers with more than its help."""
        look = self.look
        long_name = "a.principal.with.a.name.that.is.longer.than.a.terminal.is.wide@department.example.org"
        long_text = "a subject that goes on and on " * 10
        mail = json.dumps({"to": ["ada." + "of.somewhere." * 6 + "@example.org"], "subject": long_text[:199]})
        look("version")
        look("tools")
        look("tools", "--scopes", "")
        look("bogus", codes=(2,))
        look("call", "add", '{"a": 5, "b": 3}', "--trace")
        look("call", "add", '{"a": "five", "c": 3}', "--trace", codes=(3,))
        look("call", "no_such_tool_" + "x" * 100, "{}", codes=(3,))
        look("call", "add", "{" + '"a": 1, ' * 30, codes=(3,))
        look("call", "fail", json.dumps({"message": long_text}), codes=(1,))
        look("call", "fail", '{"how": "lost"}', "--key", "key-" + "k" * 90, codes=(5,))
        look("call", "notes", '{"name": "todo"}', "--action", "read", codes=(3,))
        look("call", "notes", '{"name": "a", "text": "b"}', "--action", "write", "--scope", "notes", "--autonomy", "A0", codes=(3,))
        look("call", "send_mail", mail, typed=b"n\n", codes=(3,))
        self.prepare("call", "send_mail", mail, "--principal", long_name)
        self.prepare("call", "send_mail", '{"to": ["ada@example.org"], "subject": "Hi"}')
        look("call", "send_mail", '{"to": ["bob@example.org"], "subject": "Ho"}', "--json", codes=(4,), note=False)
        for state in ("pending", "approved", "denied", "all"):
            look("approvals", "list", "--state", state)
        look("approvals", "list", "--limit", "1")
        pending = self.json("approvals", "list")["approvals"]
        for one in pending:
            look("approvals", "show", one["id"])
            look("approvals", "show", one["id"][-8:])
        look("approvals", "show", "nothing", codes=(1,))
        look("approvals", "approve", pending[0]["id"], typed=b"y\n")
        look("approvals", "approve", pending[0]["id"], typed=b"y\n", codes=(1,))
        look("approvals", "deny", pending[1]["id"], typed=b"y\n")
        look("approvals", "revoke", pending[2]["id"], typed=b"y\n")
        look("call", "--resume", pending[0]["call_id"])
        look("calls", "list")
        look("calls", "list", "--all")
        look("calls", "list", "--unknown")
        look("calls", "list", "--limit", "1")
        for one in self.json("calls", "list", "--all")["calls"]:
            look("calls", "show", one["call_id"], codes=(0, 1))
        (lost,) = self.json("calls", "list", "--unknown")["calls"]
        look("calls", "resolve", lost["call_id"], "--applied", "--evidence", long_text, typed=b"n\n", codes=(1,))
        look("calls", "resolve", lost["call_id"], "--applied", "--evidence", long_text, "--yes")
        look("audit", "tail")
        look("audit", "tail", "--type", "tool_call.failed", "-n", "3")
        look("audit", "show", "1")
        look("audit", "show", "9")
        look("audit", "show", lost["call_id"])
        look("audit", "verify")
        look("audit", "key")
        look("audit", "checkpoint")
        look("audit", "export", "-o", self.dir / "audit.jsonl")
        look("audit", "verify", "--from-export", self.dir / "audit.jsonl")
        self.file("proof.json", self.prepare("audit", "prove", "4"))
        look("audit", "prove", "--check", self.dir / "proof.json", "--key", self.prepare("audit", "key").strip())
        look("audit", "segments")
        look("audit", "archive", "--yes", "--keep", "2")
        look("audit", "segments")
        look("audit", "erase", lost["call_id"], "--yes", codes=(0, 1))
        look("audit", "rotate-key", "--yes")
        look("ledger", "stats")
        look("ledger", "check")
        look("ledger", "backup", self.dir / "backup.db")
        look("ledger", "gc")
        look("ledger", "restore", "--yes", codes=(0, 1, 2))
        look("ledger", "stats", "--ledger", self.dir / ("no ledger is at this place " * 4).strip(), codes=(2,))
        look("operator", "show", codes=(2,))
        self.prepare("secrets", "set", "github", "token", stdin=b"0123456789")
        look("secrets", "check", "github", "token")
        look("secrets", "check")
        look("secrets", "check", "github", "other", codes=(1,))
        look("secrets", "remove", "github", "token")
        schema = {
            "type": "object",
            "properties": {f"parameter_number_{n}": {"type": "string", "description": long_text} for n in range(4)},
            "required": ["parameter_number_1"],
        }
        tool = self.file("tool.json", {"name": "a_tool_with_a_name", "description": long_text, "inputSchema": schema})
        look("validate", tool)
        look("validate", tool, self.file("bad.json", {"parameter_number_2": 1, "other" * 12: [1, 2]}), codes=(1,))
        look("validate", tool, self.file("good.json", {"parameter_number_1": "x"}))
        look("validate", self.file("broken.json", '{"name": "x", "inputSchema": {"type": "nothing", "minLength": -1}}'), codes=(2,))
        look("validate", tool, self.file("text.json", '{"parameter_number_1": ' + " " * 60 + "oops and more" * 10), codes=(2,))
        look("validate", "/no/such/place/" + "x" * 120, codes=(2,))
        policy = {
            "rules": [
                {"id": "a_rule_with_a_long_name_" + "x" * 40, "match": {"tools": ["no_such_tool_" + "y" * 60]}, "decision": "deny"},
            ]
        }
        look("policy", "lint", self.file("policy.json", policy), codes=(0, 1, 2))
        call = self.file("call.json", {"tool": "send_mail", "arguments": json.loads(mail)})
        look("policy", "test", call, codes=(0, 3, 4))
        look("policy", "test", self.file("nocall.json", {"tol": "x"}), codes=(2,))


def walk(binary, directory, columns=COLUMNS):
    """The whole walk; `directory` is empty and stays the caller's."""
    steps = Walk(binary, directory, columns)
    steps.help()
    steps.lists()
    return steps
