"""What the tests on a real ledger share: the process that owns it, its verbs, and a terminal to run them at."""

import contextlib
import json
import os
import pathlib
import subprocess

import harness
from harness import CliTest

HIDDEN = {"to": "ada\u200b@ex\u0430mple.org", "note": "\u202egpj.exe", "tag": "\U000e0041", "esc": "\x1b[2J\x9b31m"}


class Owner:
    """The process ledger_owner on a ledger."""

    def __init__(self, ledger):
        program = pathlib.Path(harness.binary).with_name("ledger_owner")
        self.process = subprocess.Popen(
            [program, ledger], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise AssertionError(f"ledger_owner said '{line}' and not '{word}'")

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.expect("done")

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def kill(self):
        self.process.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def approval_id(number):
    return f"01975f2e-0000-7000-8000-{number:012x}"


class LedgerTest(CliTest):
    def setUp(self):
        super().setUp()
        self.ledger = str(self.dir / "ledger")

    def own(self):
        owner = Owner(self.ledger)
        self.addCleanup(owner.end)
        return owner

    def verb(self, *arguments, **how):
        return self.run_program(*arguments, "--ledger", self.ledger, **how)

    def json(self, *arguments, code=0):
        ran = self.verb(*arguments, "--json")
        self.assertEqual((ran.code, ran.err), (code, ""), ran)
        return json.loads(ran.out)

    def approval(self, number):
        return self.json("approvals", "show", approval_id(number))["approval"]

    def both_ways(self, owner, check):
        """Runs the check while the owner serves, and again when nobody owns the ledger."""
        with self.subTest("owned"):
            check()
        owner.end()
        self.assertFalse(os.path.exists(self.ledger + "/control.sock"))
        with self.subTest("free"):
            check()


class TerminalTest(LedgerTest):
    def start(self, *arguments):
        """The program at a terminal; what it writes there, and what is typed, goes through the number returned."""
        process, main = harness.start_at_terminal(self, (*arguments, "--ledger", self.ledger), 120)
        self.addCleanup(os.close, main)
        return process, main

    def until(self, main, text):
        """What is shown up to and including this text."""
        shown = ""
        while text not in shown:
            try:
                block = os.read(main, 65536)
            except OSError:
                block = b""
            if not block:
                self.fail(f"'{text}' never came after: {shown}")
            shown += block.decode()
        return shown
