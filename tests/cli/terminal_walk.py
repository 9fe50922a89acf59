"""Every verb of `callgate` at a terminal of 80 columns: its help, and the verb itself.

walk(binary, directory) runs the program in pseudo-terminals, with the directory as its home: first the help of every verb,
which it finds from `callgate help` on, then the verbs themselves, with names and texts that are longer than a terminal is
wide, and with what people type at questions and prompts. It returns a Walk: how many steps were taken, which of them did not
end as they should, and the lines that are too wide. A verb that help lists and no step ran to its success is a failure, too.
Data is not for people (exports, scripts, JSON) and may be wider. Nothing here waits for a time to pass.

Both `make test` (terminal_test.py) and `make newcomer` take this walk.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import unicodedata

COLUMNS = 80
PATIENCE_S = 60  # with a program that says nothing and does not end: it is killed
QUESTION = "[y/N] "
YES, NO = ((QUESTION, "y"),), ((QUESTION, "n"),)
PASSPHRASE = "correct horse battery"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def width(line):
    """Columns of a line on a terminal; of one that is written over, the widest that it ever has."""

    def columns(text):
        wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
        return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)

    return max(columns(part) for part in CONTROL.sub("", line).split("\r"))


def at_terminal(binary, arguments, columns=COLUMNS, env=None, typed=()):
    """The program at a terminal of its own: its exit code, what the terminal shows, and how many of `typed` were asked
    for, which are (prompt, line to type), in order. OSError where there are no terminals."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [binary, *map(str, arguments)],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"} if env is None else env,
        start_new_session=True,
        # Passphrases are asked for at the controlling terminal.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(side)
    text = b""
    seen = asked = 0
    # The end of a terminal whose other side is closed is an error on Linux.
    with contextlib.suppress(OSError):
        while select.select([main], [], [], PATIENCE_S)[0] or process.kill():  # which gives None
            block = os.read(main, 65536)
            if not block:
                break
            text += block
            # What is typed before the question is forgotten.
            if asked < len(typed) and text.endswith(typed[asked][0].encode(), seen):
                os.write(main, typed[asked][1].encode() + b"\n")
                seen = len(text)
                asked += 1
    os.close(main)
    return process.wait(), text.decode().replace("\r\n", "\n"), asked


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


def clean_environment(home):
    """A person's, who has set nothing, and what sanitizers are told."""
    kept = {name: value for name, value in os.environ.items() if re.match(r"(A|L|T|UB)SAN_OPTIONS$|LD_", name)}
    return {**kept, "HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm", "TZ": "UTC", "NO_COLOR": "1"}


class Walk:
    def __init__(self, binary, directory, columns=COLUMNS):
        self.binary = str(binary)
        self.dir = pathlib.Path(directory)
        self.columns = columns
        self.env = clean_environment(directory)
        self.steps = 0
        self.failed = []
        self.too_wide = []
        self.verbs = []  # every verb that does something, as a tuple of words
        self.ran = set()  # of them, those that did it

    @property
    def passed(self):
        return self.steps - len(self.failed)

    def look(self, *arguments, codes=(0,), typed=(), data=False):
        """One step: the program at the terminal."""
        words = tuple(map(str, arguments))
        code, text, asked = at_terminal(self.binary, words, self.columns, self.env, typed)
        self.steps += 1
        if code not in codes or asked != len(typed):
            self.failed.append(f"{' '.join(words)}: exit code {code}, {asked} of {len(typed)} questions\n{text}")
        elif code == 0 and "--help" not in words:
            self.ran |= {verb for verb in self.verbs if words[: len(verb)] == verb}
        if not data:
            self.too_wide += [f"{' '.join(words)}: {line}" for line in text.split("\n") if width(line) > self.columns]
        return text

    def prepare(self, *arguments):
        """The program without a terminal; what it writes."""
        ran = subprocess.run(
            [self.binary, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, env=self.env, check=False
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

    def tools_and_calls(self):
        look = self.look
        long_name = "a.principal.with.a.name.that.is.longer.than.a.terminal.is.wide@department.example.org"
        self.long_text = "a subject that goes on and on " * 10
        self.mail = json.dumps({"to": ["ada." + "of.somewhere." * 6 + "@example.org"], "subject": self.long_text[:199]})
        look("version")
        look("help", "calls")
        look("bogus", codes=(2,))
        for shell in ("bash", "zsh", "fish"):
            look("completion", shell, data=True)
        look("tools")
        look("tools", "--scopes", "")
        look("call", "add", '{"a": 5, "b": 3}', "--trace")
        look("call", "add", '{"a": "five", "c": 3}', "--trace", codes=(3,))
        look("call", "no_such_tool_" + "x" * 100, "{}", codes=(3,))
        look("call", "add", "{" + '"a": 1, ' * 30, codes=(3,))
        look("call", "fail", json.dumps({"message": self.long_text}), codes=(1,))
        look("call", "fail", '{"how": "lost"}', "--key", "key-" + "k" * 90, codes=(5,))
        look("call", "notes", '{"name": "todo"}', "--action", "read", codes=(3,))
        look("call", "notes", '{"name": "a", "text": "b"}', "--action", "write", "--scope", "notes", "--autonomy", "A0", codes=(3,))
        look("call", "send_mail", self.mail, typed=NO, codes=(3,))
        look("call", "send_mail", '{"to": ["cleo@example.org"], "subject": "Hi"}', typed=YES)
        self.prepare("call", "send_mail", self.mail, "--principal", long_name)
        self.prepare("call", "send_mail", '{"to": ["ada@example.org"], "subject": "Hi"}')
        look("call", "send_mail", '{"to": ["bob@example.org"], "subject": "Ho"}', "--json", codes=(4,), data=True)

    def people(self):
        look = self.look
        for state in ("pending", "approved", "denied", "all"):
            look("approvals", "list", "--state", state)
        look("approvals", "list", "--limit", "1")
        pending = self.json("approvals", "list")["approvals"]
        for one in pending:
            look("approvals", "show", one["id"])
            look("approvals", "show", one["id"][-8:])
        look("approvals", "show", "nothing", codes=(1,))
        look("approvals", "approve", pending[0]["id"], typed=YES)
        look("approvals", "approve", pending[0]["id"], typed=YES, codes=(1,))
        look("approvals", "deny", pending[1]["id"], typed=YES)
        look("approvals", "revoke", pending[2]["id"], typed=YES)
        look("call", "--resume", pending[0]["call_id"])
        look("operator", "show", codes=(2,))
        look("operator", "enroll", typed=(("Passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE)))
        look("operator", "show")
        for name in ("dora", "eve"):
            self.prepare("call", "send_mail", json.dumps({"to": [f"{name}@example.org"], "subject": self.long_text[:199]}))
        look("approvals", "watch", typed=(("[q]uit? ", "a"), ("[q]uit? ", "q")))

    def record(self):
        look = self.look
        look("calls", "list")
        look("calls", "list", "--all")
        look("calls", "list", "--unknown")
        look("calls", "list", "--limit", "1")
        for one in self.json("calls", "list", "--all")["calls"]:
            look("calls", "show", one["call_id"], codes=(0, 1))
        (lost,) = self.json("calls", "list", "--unknown")["calls"]
        resolve = ("calls", "resolve", lost["call_id"], "--applied", "--evidence", self.long_text)
        look(*resolve, typed=NO, codes=(1,))
        look(*resolve, typed=YES)
        look("audit", "tail")
        look("audit", "tail", "--type", "tool_call.failed", "-n", "3")
        look("audit", "show", "1")
        look("audit", "show", "9")
        look("audit", "show", lost["call_id"])
        look("audit", "verify")
        look("audit", "key")
        look("audit", "checkpoint")
        key = self.prepare("audit", "key").strip()
        witness = self.file("witness.notes", self.prepare("audit", "checkpoint"))
        look("audit", "verify", "--key", key, "--witness", witness)
        look("audit", "export", "-o", self.dir / "audit.jsonl")
        look("audit", "verify", "--from-export", self.dir / "audit.jsonl")
        look("audit", "prove", "4", data=True)
        look("audit", "prove", "--check", self.file("proof.json", self.prepare("audit", "prove", "4")), "--key", key)
        look("audit", "erase", lost["call_id"], typed=YES)
        look("audit", "segments")
        look("audit", "archive", "--keep", "2", typed=YES)
        look("audit", "segments")
        look("audit", "rotate-key", typed=YES)

    def ledger(self):
        look = self.look
        look("ledger", "stats")
        look("ledger", "check")
        look("ledger", "backup", self.dir / "backup.db")
        look("ledger", "gc")
        look("ledger", "restore", "--yes", codes=(1,))
        moved = self.dir / "moved"
        shutil.copytree(self.dir / ".local/state/callgate", moved, ignore=shutil.ignore_patterns("*.sock"))
        look("ledger", "restore", "--moved", "--ledger", moved, typed=YES)
        look("ledger", "stats", "--ledger", self.dir / ("no ledger is at this place " * 4).strip(), codes=(2,))

    def secrets(self):
        look = self.look
        unseen = "(not shown): "
        look("secrets", "set", "github", "token", typed=((unseen, "0123456789"),))
        look("secrets", "rotate", "github", "token", typed=((unseen, "9876543210"),))
        look("secrets", "check", "github", "token")
        look("secrets", "check")
        look("secrets", "check", "github", "other", codes=(1,))
        look("secrets", "rotate-key", "--new-key-file", self.dir / "new.key")
        look("secrets", "check", "--key-file", self.dir / "new.key")
        look("secrets", "remove", "github", "token", "--key-file", self.dir / "new.key")

    def documents(self):
        look = self.look
        schema = {
            "type": "object",
            "properties": {f"parameter_number_{n}": {"type": "string", "description": self.long_text} for n in range(4)},
            "required": ["parameter_number_1"],
        }
        tool = self.file("tool.json", {"name": "a_tool_with_a_name", "description": self.long_text, "inputSchema": schema})
        look("validate", tool)
        look("validate", tool, self.file("bad.json", {"parameter_number_2": 1, "other" * 12: [1, 2]}), codes=(1,))
        look("validate", tool, self.file("good.json", {"parameter_number_1": "x"}))
        look("validate", self.file("broken.json", '{"name": "x", "inputSchema": {"type": "nothing", "minLength": -1}}'), codes=(2,))
        look("validate", tool, self.file("text.json", '{"parameter_number_1": ' + " " * 60 + "oops and more" * 10), codes=(2,))
        look("validate", "/no/such/place/" + "x" * 120, codes=(2,))
        look("policy", "lint", self.file("fine.json", {"rules": [{"decision": "confirm"}]}))
        rule = {"id": "a_rule_with_a_long_name_" + "x" * 40, "match": {"tools": ["no_such_tool_" + "y" * 60]}, "decision": "deny"}
        look("policy", "lint", self.file("policy.json", {"rules": [rule]}), codes=(2,))
        look("policy", "test", self.file("call.json", {"tool": "add", "arguments": {"a": 1, "b": 2}}))
        look("policy", "test", self.file("mail.json", {"tool": "send_mail", "arguments": json.loads(self.mail)}), codes=(4,))
        look("policy", "test", self.file("nocall.json", {"tol": "x"}), codes=(2,))

    def mcp(self):
        # Ctrl-D at a terminal: the client has said all it will.
        self.look("mcp", "serve", "--ledger", "memory", typed=(("in memory\r\n", "\x04"),))
        self.look("mcp", "serve", "--http", "no address at all " * 10, codes=(2,))
        self.look("mcp", "serve", "--tls-key", "key.pem", codes=(2,))

    def judge(self):
        """What is left to say when all steps are taken."""
        self.failed += [f"no step ran `callgate {' '.join(verb)}` to its success" for verb in self.verbs if verb not in self.ran]


def walk(binary, directory, columns=COLUMNS):
    """The whole walk; `directory` is empty and stays the caller's."""
    steps = Walk(binary, directory, columns)
    steps.help()
    steps.tools_and_calls()
    steps.people()
    steps.record()
    steps.ledger()
    steps.secrets()
    steps.documents()
    steps.mcp()
    steps.judge()
    return steps
