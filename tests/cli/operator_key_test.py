#!/usr/bin/env python3
"""The operator's key: made, asked for at a terminal, kept from others.

Usage: operator_key_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import contextlib
import fcntl
import os
import pty
import pwd
import signal
import struct
import subprocess
import termios

import harness
from ledger_harness import TerminalTest, approval_id


class OperatorKey(TerminalTest):
    def start_with_key(self, *arguments):
        """As start(), at a controlling terminal of its own, where a passphrase is asked for."""
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            [harness.binary, *map(str, arguments)],
            stdin=side,
            stdout=side,
            stderr=side,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "XDG_CONFIG_HOME": str(self.dir / "config")},
            preexec_fn=own_terminal,
        )
        os.close(side)
        self.addCleanup(os.close, main)
        return process, main

    def enroll(self, *typed):
        process, main = self.start_with_key("operator", "enroll")
        shown = ""
        for prompt, answer in typed:
            shown += self.until(main, prompt)
            os.write(main, answer + b"\n")
        with contextlib.suppress(OSError):
            while block := os.read(main, 65536):
                shown += block.decode()
        return process.wait(), shown

    def test_a_risky_call_needs_the_signature_of_a_person(self):
        os.environ["LEDGER_OWNER_NO_OPERATOR"] = "1"
        self.addCleanup(os.environ.pop, "LEDGER_OWNER_NO_OPERATOR")
        owner = self.own()
        owner.do("approvals 1 3")
        # Any program can do this as the same user.
        digest = self.approval(1)["digest"]
        ran = self.verb("approvals", "approve", approval_id(1), "--yes", "--digest", digest)
        self.assertEqual((ran.code, ran.out), (1, ""), ran)
        self.assertIn("callgate operator enroll", ran.err)
        code, shown = self.enroll((": ", b"correct horse"), ("again: ", b"correct horse"))
        self.assertEqual(code, 0, shown)
        self.assertNotIn("correct horse", shown)
        self.assertEqual(os.stat(self.dir / "config/callgate/operator.key").st_mode & 0o777, 0o600)
        process, main = self.start_with_key("approvals", "approve", approval_id(1), "--ledger", self.ledger)
        self.until(main, "Approve it? [y/N] ")
        os.write(main, b"y\n")
        self.until(main, "Passphrase of your operator key: ")
        os.write(main, b"correct horse\n")
        self.until(main, "approved")
        self.assertEqual(process.wait(), 0)
        (vote,) = self.approval(1)["votes"]
        self.assertEqual(vote["assurance"], "A2")
        self.assertTrue(vote["key"].startswith(f"operator-{os.getuid()}+"))
        # With another passphrase, nothing is signed.
        process, main = self.start_with_key("approvals", "approve", approval_id(2), "--ledger", self.ledger)
        self.until(main, "Approve it? [y/N] ")
        os.write(main, b"y\n")
        self.until(main, "Passphrase of your operator key: ")
        os.write(main, b"wrong\n")
        self.until(main, "not the one")
        self.assertEqual(process.wait(), 1)
        # Nor after Ctrl-C.
        process, main = self.start_with_key("approvals", "approve", approval_id(2), "--ledger", self.ledger)
        self.until(main, "Approve it? [y/N] ")
        os.write(main, b"y\n")
        self.until(main, "Passphrase of your operator key: ")
        os.write(main, b"\x03")
        self.until(main, "Called off")
        self.assertEqual(process.wait(), 130)
        self.assertEqual(self.approval(2)["state"], "pending")

    def test_watch_asks_for_the_passphrase_once(self):
        os.environ["LEDGER_OWNER_NO_OPERATOR"] = "1"
        self.addCleanup(os.environ.pop, "LEDGER_OWNER_NO_OPERATOR")
        owner = self.own()
        owner.do("approvals 1 2")
        code, shown = self.enroll((": ", b"correct horse"), ("again: ", b"correct horse"))
        self.assertEqual(code, 0, shown)
        process, main = self.start_with_key("approvals", "watch", "--ledger", self.ledger)
        self.until(main, "[q]uit? ")
        os.write(main, b"a\n")
        self.until(main, "Passphrase of your operator key: ")
        os.write(main, b"correct horse\n")
        self.until(main, "[q]uit? ")
        os.write(main, b"a\n")
        self.assertNotIn("Passphrase", self.until(main, "approved"))
        process.send_signal(signal.SIGINT)
        process.wait()
        self.assertEqual([self.approval(n)["state"] for n in (1, 2)], ["approved", "approved"])

    def test_ctrl_c_and_ctrl_z_at_a_passphrase(self):
        process, main = self.start_with_key("operator", "enroll")
        self.until(main, "Passphrase: ")
        os.write(main, b"seen\x1a by nobody\n")
        self.assertNotIn("seen", self.until(main, "again: "))
        os.write(main, b"\x03")
        self.until(main, "Called off")
        self.assertEqual(process.wait(), 130)

    def test_another_key_needs_the_passphrase_of_the_one_before(self):
        code, shown = self.enroll((": ", b"correct horse"), ("again: ", b"correct horse"))
        self.assertEqual(code, 0, shown)
        before = (self.dir / "config/callgate/operator.key").read_text()
        code, shown = self.enroll(("present key: ", b"wrong horse"))
        self.assertEqual(code, 1, shown)
        self.assertEqual((self.dir / "config/callgate/operator.key").read_text(), before)
        code, shown = self.enroll(
            ("present key: ", b"correct horse"), ("New passphrase: ", b"battery staple"), ("again: ", b"battery staple")
        )
        self.assertEqual(code, 0, shown)
        self.assertNotEqual((self.dir / "config/callgate/operator.key").read_text(), before)

    def test_an_operator_key_that_others_can_read_is_refused(self):
        code, shown = self.enroll((": ", b"correct horse"), ("again: ", b"correct horse"))
        self.assertEqual(code, 0, shown)
        key = self.dir / "config/callgate/operator.key"
        for mode in (0o644, 0o640, 0o620):
            key.chmod(mode)
            ran = self.run_program("operator", "show", env={"XDG_CONFIG_HOME": str(self.dir / "config")})
            self.assertEqual((ran.code, ran.out), (2, ""), ran)
            self.assertIn(f"chmod 600 '{key}'", ran.err)
        key.chmod(0o600)
        ran = self.run_program("operator", "show", env={"XDG_CONFIG_HOME": str(self.dir / "config")})
        self.assertEqual(ran.code, 0, ran)

    def test_without_home_every_verb_uses_the_one_that_the_system_knows(self):
        home = pwd.getpwuid(os.getuid()).pw_dir
        env = {
            name: value
            for name, value in os.environ.items()
            if name != "HOME" and not name.startswith(("XDG_", "CALLGATE_"))
        }
        for arguments in (["operator", "show"], ["secrets", "check", "nobody", "nothing"]):
            ran = subprocess.run([harness.binary, *arguments], capture_output=True, env=env, text=True)
            self.assertNotIn("home directory", ran.stderr, arguments)
            if arguments[0] == "operator" and ran.returncode != 0:
                self.assertIn(home, ran.stderr, arguments)

    def test_a_passphrase_is_typed_at_a_terminal_or_not_at_all(self):
        env = {**os.environ, "XDG_CONFIG_HOME": str(self.dir / "config")}
        ran = subprocess.run(
            [harness.binary, "operator", "enroll"],
            input=b"correct horse\ncorrect horse\n",
            capture_output=True,
            env=env,
            start_new_session=True,
            timeout=60,
        )
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn(b"terminal", ran.stderr)
        self.assertFalse((self.dir / "config").exists())


if __name__ == "__main__":
    harness.main(__doc__)
