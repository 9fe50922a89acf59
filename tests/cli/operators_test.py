#!/usr/bin/env python3
"""The operators' verbs on a real ledger, while a process owns it and while none does.

Usage: operators_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import json
import os
import pwd

import harness
from ledger_harness import HIDDEN, LedgerTest, approval_id


class Operators(LedgerTest):
    def test_every_list_is_the_same_owned_and_free(self):
        owner = self.own()
        owner.do("approvals 1 3")
        owner.do("call 7 succeeded")
        owner.do("call 8 ambiguous")

        def check():
            pending = self.json("approvals", "list")
            self.assertEqual([one["id"] for one in pending["approvals"]], [approval_id(n) for n in (3, 2, 1)])
            self.assertIn("send_mail", self.verb("approvals", "list").out)
            calls = self.json("calls", "list", "--unknown")["calls"]
            self.assertEqual([one["call_id"] for one in calls], [approval_id(8)])
            shown = self.json("calls", "show", approval_id(8))["call"]
            self.assertEqual((shown["state"], len(shown["attempt_list"])), ("unknown", 1))
            self.assertEqual(shown["events"][0]["type"], "tool_call.attempted")
            stats = self.json("ledger", "stats")
            self.assertEqual(stats["approvals"]["pending"], 3)
            self.assertTrue(self.json("ledger", "check")["ok"])

        self.both_ways(owner, check)

    def test_decisions_are_recorded_owned_and_free(self):
        owner = self.own()
        owner.do("approvals 1 6")
        me = "user:" + pwd.getpwuid(os.getuid()).pw_name

        def decide(first):
            digest = self.approval(first)["digest"]
            done = self.json("approvals", "approve", approval_id(first), "--yes", "--digest", digest)
            self.assertEqual(done["approval"]["state"], "approved")
            self.assertEqual(done["approval"]["votes"][0]["approver"], me)
            self.json("approvals", "deny", approval_id(first + 1), "--yes", "--reason", "not this one")
            self.json("approvals", "revoke", approval_id(first + 2), "--yes")
            # On a free ledger each verb is an owner of its own, which is on the record, too.
            events = [event["type"] for event in self.json("audit", "tail", "-n", "20")["events"]]
            decisions = [one for one in events if one != "ledger.opened"]
            self.assertEqual(decisions[-3:], ["approval.vote", "gate.denied", "approval.revoked"])

        decide(1)
        owner.end()
        decide(4)

    def test_a_wrong_digest_approves_nothing(self):
        owner = self.own()
        owner.do("approvals 1 1")

        def check():
            error = self.json("approvals", "approve", approval_id(1), "--yes", "--digest", "0" * 64, code=1)["error"]
            self.assertEqual(error["details"]["reason"], "digest_mismatch")
            self.assertEqual(self.approval(1)["state"], "pending")

        self.both_ways(owner, check)

    def test_unknown_outcomes_are_resolved(self):
        owner = self.own()
        owner.do("call 1 ambiguous")
        owner.do("call 2 ambiguous")
        ran = self.verb("calls", "resolve", approval_id(1), "--applied", "--evidence", "seen", "--yes")
        self.assertEqual(ran.code, 0, ran)
        owner.end()
        ran = self.verb("calls", "resolve", approval_id(2), "--not-applied", "--evidence", "unseen", "--yes")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.json("calls", "list", "--unknown")["calls"], [])
        ran = self.verb("calls", "resolve", approval_id(2), "--applied", "--evidence", "x", "--yes")
        self.assertEqual(ran.code, 1, ran)

    def test_a_backup_opens_as_a_database_of_its_own(self):
        owner = self.own()
        owner.do("approvals 1 2")
        for name in ("owned.db", "free.db"):
            ran = self.verb("ledger", "backup", self.dir / name)
            self.assertEqual(ran.code, 0, ran)
            self.assertEqual((self.dir / name).read_bytes()[:15], b"SQLite format 3")
            self.assertEqual(self.verb("ledger", "backup", self.dir / name).code, 2)
            owner.end()

    def test_nothing_shown_can_play_tricks(self):
        owner = self.own()
        owner.do("approval 1 " + json.dumps(HIDDEN))

        def check():
            for arguments in (("approvals", "list"), ("approvals", "show", approval_id(1))):
                shown = self.verb(*arguments).out
                for character in "\u200b\u202e\U000e0041\x1b\x9b":
                    self.assertNotIn(character, shown)
            for text in ("ada\\u{200B}@", "\\u{202E}gpj.exe", "\\u{E0041}", "\\x9B31m", "cannot be seen", "scripts"):
                self.assertIn(text, shown)

        self.both_ways(owner, check)

    def test_a_hundred_thousand_pending_approvals(self):
        owner = self.own()
        owner.do("approvals 1 100000")

        def check():
            page = self.json("approvals", "list")
            self.assertEqual(len(page["approvals"]), 50)
            self.assertEqual(page["approvals"][0]["id"], approval_id(100000))
            page = self.json("approvals", "list", "--limit", "1000", "--before", approval_id(1001))
            self.assertEqual((len(page["approvals"]), page["next"]), (1000, None))
            self.assertEqual(self.approval(50000)["arguments"]["number"], 50000)

        # Each run is held to 30 s of processor time and 1 GiB by the harness.
        self.both_ways(owner, check)


if __name__ == "__main__":
    harness.main(__doc__)
