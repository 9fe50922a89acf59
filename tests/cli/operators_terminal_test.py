#!/usr/bin/env python3
"""A person at a terminal decides: what is shown, what is asked, and what interrupts it.

Usage: operators_terminal_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import json
import os
import pty
import signal
import subprocess

import harness
from ledger_harness import TerminalTest, approval_id


class OperatorsAtATerminal(TerminalTest):
    def test_a_person_is_shown_everything_and_asked(self):
        owner = self.own()
        owner.do("approval 1 " + json.dumps({"to": ["ada@example.org"], "subject": "Hi"}))
        process, main = self.start("approvals", "approve", approval_id(1))
        shown = self.until(main, "Approve it? [y/N] ")
        for text in ("ada@example.org", "risk", "digest", "expires in"):
            self.assertIn(text, shown)
        os.write(main, b"y\n")
        self.until(main, "approved")
        self.assertEqual(process.wait(), 0)

    def test_the_ledger_is_free_while_a_person_thinks(self):
        owner = self.own()
        owner.do("approvals 1 2")
        owner.end()
        process, main = self.start("approvals", "deny", approval_id(1))
        self.until(main, "Deny it? [y/N] ")
        ran = self.verb("approvals", "deny", approval_id(2), "--yes")
        self.assertEqual(ran.code, 0, ran)
        os.write(main, b"y\n")
        self.until(main, "denied")
        self.assertEqual(process.wait(), 0)

    def test_an_owner_that_ends_in_the_middle_breaks_no_verdict(self):
        owner = self.own()
        owner.do("approvals 1 20000")
        process, main = self.start("audit", "verify")
        self.until(main, "verify")
        owner.end()
        self.assertIn("20001 events are intact", " ".join(self.until(main, "was cut off.").split()))
        self.assertEqual(process.wait(), 0)

    def test_watch_shows_new_ones_as_they_come(self):
        owner = self.own()
        owner.do("approvals 1 1")
        process, main = self.start("approvals", "watch")
        self.until(main, "[a]pprove, [d]eny, [s]kip, [q]uit? ")
        os.write(main, b"s\n")
        owner.do("approvals 2 1")
        shown = self.until(main, "[q]uit? ")
        self.assertIn(approval_id(2), shown)
        os.write(main, b"a\n")
        self.until(main, "approved")
        owner.do("approvals 3 1")
        self.until(main, "[q]uit? ")
        os.write(main, b"q\n")
        self.assertEqual(process.wait(), 0)
        self.assertEqual([self.approval(n)["state"] for n in (1, 2, 3)], ["pending", "approved", "pending"])

    def test_watch_asks_for_no_vote_about_what_is_shown_elsewhere(self):
        owner = self.own()
        owner.do("approvals 1 1")
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        process = subprocess.Popen(
            [harness.binary, "approvals", "watch", "--ledger", self.ledger],
            stdin=side, stdout=subprocess.PIPE, stderr=side, text=True,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        )  # fmt: skip
        os.close(side)
        self.assertIn(approval_id(1), process.stdout.readline())
        self.assertNotIn("[a]pprove", self.until(main, "only listed"))
        process.kill()
        process.wait()
        process.stdout.close()
        # Nor where another terminal than the person's shows it.
        other, shown = pty.openpty()
        self.addCleanup(os.close, other)
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        ran = subprocess.run(
            [harness.binary, "approvals", "approve", approval_id(1), "--ledger", self.ledger],
            stdin=side, stdout=side, stderr=shown, env={**os.environ, "TERM": "xterm"},
        )  # fmt: skip
        os.close(side)
        os.close(shown)
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(self.approval(1)["state"], "pending")

    def test_what_was_typed_before_a_request_was_shown_decides_nothing(self):
        owner = self.own()
        process, main = self.start("approvals", "watch")
        self.until(main, "Waiting for requests; Ctrl-C ends it.")
        os.write(main, b"a\n")
        self.until(main, "a\r\n")  # the terminal has it
        owner.do("approvals 1 1")
        self.until(main, "[q]uit? ")
        os.write(main, b"d\n")
        self.until(main, "denied")
        process.kill()
        process.wait()
        self.assertEqual(self.approval(1)["state"], "denied")

    def test_ctrl_c_ends_a_watch_that_waits(self):
        self.own()
        process, main = self.start("approvals", "watch")
        self.until(main, "Waiting for requests; Ctrl-C ends it.")
        # It is told before it waits: what comes in between ends the program as Ctrl-C always does.
        while process.poll() is None and not self.blocks_sigint(process.pid):
            pass
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    @staticmethod

    def blocks_sigint(pid):
        with open(f"/proc/{pid}/status") as status:
            (mask,) = [line.split()[1] for line in status if line.startswith("SigBlk:")]
        return int(mask, 16) >> (signal.SIGINT - 1) & 1

    def test_watch_asks_about_one_that_came_while_another_was_asked(self):
        owner = self.own()
        owner.do("approvals 1 1")
        owner.end()
        process, main = self.start("approvals", "watch")
        self.until(main, "[q]uit? ")
        # Nobody owns the ledger while the person thinks; somebody comes, asks, and goes.
        other = self.own()
        other.do("approvals 2 1")
        other.end()
        os.write(main, b"s\n")
        self.assertIn(approval_id(2), self.until(main, "[q]uit? "))
        os.write(main, b"q\n")
        self.assertEqual(process.wait(), 0)

    def test_a_call_that_asks_lets_go_of_the_ledger_while_a_person_thinks(self):
        process, main = self.start("call", "send_mail", '{"to": ["ada@example.org"], "subject": "Hi"}')
        self.until(main, "Approve? [y/N] ")
        other = self.own()
        other.do("approvals 2 1")
        self.assertEqual(len(self.json("approvals", "list")["approvals"]), 2)
        other.end()
        os.write(main, b"y\n")
        self.until(main, "sent 'Hi' to ada@example.org")
        self.assertEqual(process.wait(), 0)

    def test_a_call_that_asks_goes_on_with_what_somebody_else_decided(self):
        process, main = self.start("call", "send_mail", '{"to": ["ada@example.org"], "subject": "Hi"}')
        self.until(main, "Approve? [y/N] ")
        (waits,) = self.json("approvals", "list")["approvals"]
        self.json("approvals", "deny", waits["id"], "--yes")
        os.write(main, b"y\n")
        self.until(main, "A person refused this call.")
        self.assertEqual(process.wait(), 3)

    def test_the_first_ctrl_c_ends_the_question_of_a_call(self):
        process, main = self.start("call", "send_mail", '{"to": ["ada@example.org"], "subject": "Hi"}')
        self.until(main, "Approve? [y/N] ")
        process.send_signal(signal.SIGINT)
        shown = self.until(main, "--resume")
        self.assertIn("callgate approvals approve", shown)
        self.assertEqual(process.wait(), 4)
        self.assertEqual(len(self.json("approvals", "list")["approvals"]), 1)

    def test_watch_tells_all_that_are_pending_oldest_first(self):
        owner = self.own()
        owner.do("approvals 1 2500")
        process = subprocess.Popen(
            [harness.binary, "approvals", "watch", "--json", "--ledger", self.ledger], stdout=subprocess.PIPE
        )
        self.addCleanup(process.stdout.close)
        for number in range(1, 2501):
            self.assertEqual(json.loads(process.stdout.readline())["id"], approval_id(number))
        owner.do("approvals 2501 1")
        self.assertEqual(json.loads(process.stdout.readline())["id"], approval_id(2501))
        process.terminate()
        self.assertEqual(process.wait(), 0)

    def test_watch_follows_owners_that_come_and_go(self):
        first = self.own()
        first.do("approvals 1 1")
        process = subprocess.Popen(
            [harness.binary, "approvals", "watch", "--json", "--ledger", self.ledger], stdout=subprocess.PIPE
        )
        self.addCleanup(process.stdout.close)
        self.assertEqual(json.loads(process.stdout.readline())["id"], approval_id(1))
        first.end()
        second = self.own()
        second.do("approvals 2 1")
        self.assertEqual(json.loads(process.stdout.readline())["id"], approval_id(2))
        second.kill()
        third = self.own()
        third.do("approvals 3 1")
        self.assertEqual(json.loads(process.stdout.readline())["id"], approval_id(3))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    def test_lines_fit_the_terminal(self):
        owner = self.own()
        owner.do("call 1 ambiguous")
        owner.end()
        process, main = self.start("calls", "show", approval_id(1))
        for line in self.until(main, "--not-applied)").splitlines():
            self.assertLessEqual(len(line), 120, line)
        process.wait()


if __name__ == "__main__":
    harness.main(__doc__)
