#!/usr/bin/env python3
"""The audit's verbs on a real ledger: verify, export, checkpoint and tail.

Usage: audit_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import contextlib
import json
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys

import harness
from ledger_harness import LedgerTest, Owner, approval_id


class Audit(LedgerTest):
    def test_the_log_is_verified_owned_and_free(self):
        owner = self.own()
        owner.do("approvals 1 1000")
        owner.do("call 5000 succeeded")

        def check():
            key = self.json("audit", "key")["key"]
            report = self.json("audit", "verify", "--key", key)
            self.assertEqual((report["verdict"], report["pinned"]), ("unwitnessed", True))
            self.assertGreater(report["events"], 1000)

        self.both_ways(owner, check)

    def test_an_export_is_the_same_owned_and_free_and_verifies(self):
        owner = self.own()
        owner.do("approvals 1 100")
        self.assertEqual(self.verb("audit", "checkpoint").code, 0)
        self.assertEqual(self.verb("audit", "export", "-o", self.dir / "owned.jsonl").code, 0)
        owner.end()
        self.assertEqual(self.verb("audit", "export", "-o", self.dir / "free.jsonl").code, 0)
        owned = (self.dir / "owned.jsonl").read_bytes()
        # Opening and closing the ledger may add events of its own at the end.
        self.assertTrue((self.dir / "free.jsonl").read_bytes().startswith(owned))
        for name in ("owned.jsonl", "free.jsonl"):
            self.assertEqual(self.run_program("audit", "verify", "--from-export", self.dir / name).code, 0)
        self.assertEqual(self.run_program("audit", "verify", "--from-export", "-", stdin=owned).code, 0)
        ran = self.run_program("audit", "verify", "--from-export", "-", stdin=owned.replace(b"agent", b"eve__", 1))
        self.assertEqual((ran.code, ran.err), (1, ""), ran)
        self.assertIn("broken", ran.out)

    def test_what_is_kept_of_checkpoints_is_a_witness_for_both_verifiers(self):
        owner = self.own()
        owner.do("call 1 succeeded")
        witness, export = self.dir / "witness.notes", self.dir / "audit.jsonl"
        second = pathlib.Path(__file__).resolve().parents[2] / "tools" / "audit_verify.py"

        def verdicts(code):
            """What the program says of the ledger and of an export, and what the second verifier says."""
            ran = subprocess.run([sys.executable, "-B", second, "--json", "--witness", witness, export],
                                 capture_output=True, text=True)  # fmt: skip
            self.assertEqual(ran.returncode, code, ran)
            answers = [
                self.json("audit", "verify", "--witness", witness, code=code),
                self.json("audit", "verify", "--from-export", export, "--witness", witness, code=code),
            ]
            if code == 0:
                answers.append(json.loads(ran.stdout))
            return answers

        def check():
            with witness.open("a") as file:
                file.write(self.verb("audit", "checkpoint").out)
            export.unlink(missing_ok=True)
            self.assertEqual(self.verb("audit", "export", "-o", export).code, 0)
            for report in verdicts(0):
                self.assertEqual((report["verdict"], report["unreadable_witness_lines"]), ("intact", 0), report)

        self.both_ways(owner, check)
        notes = witness.read_text()
        witness.write_text("kept by ann\n" + notes)
        for report in verdicts(0):
            self.assertEqual((report["witness_notes"], report["unreadable_witness_lines"]), (2, 1), report)
        for nothing in ("", "garbage\n", notes.replace("callgate/audit/", "callgate/audit/not-")):
            witness.write_text(nothing)
            for answer in verdicts(2):
                self.assertIn("callgate audit checkpoint", answer["error"]["message"])

    def test_an_owner_that_ends_in_the_middle_ends_an_export(self):
        owner = self.own()
        owner.do("approvals 1 20000")
        process = subprocess.Popen(
            [harness.binary, "audit", "export", "--ledger", self.ledger], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.read(1000)
        owner.process.stdin.close()
        _, err = process.communicate()
        self.assertEqual(process.returncode, 2, err)
        self.assertIn(b"is ending. Ask again.", err)

    def test_a_damaged_log_is_named_owned_and_free(self):
        """The file is changed behind the ledger's back, and read by whoever serves it."""
        with Owner(self.ledger) as owner:
            owner.do("approvals 1 10")
        with contextlib.closing(sqlite3.connect(self.ledger + "/ledger.db")) as database:
            event = bytes(database.execute("SELECT event FROM audit WHERE seq = 5").fetchone()[0])
            bad = event[:20] + b"\xff\n" + event[22:]
            database.execute("UPDATE audit SET event = ? WHERE seq = 5", (bad,))
            database.commit()
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        owner = self.own()

        def check():
            report = self.json("audit", "verify", code=1)
            self.assertEqual(report["verdict"], "broken", report)
            self.assertIn("5", json.dumps(report))

        self.both_ways(owner, check)

    def test_tail_follows(self):
        owner = self.own()
        owner.do("approvals 1 1")
        process = subprocess.Popen(
            [harness.binary, "audit", "tail", "--follow", "--type", "gate.required", "--json", "--ledger", self.ledger],
            stdout=subprocess.PIPE,
        )
        self.addCleanup(process.stdout.close)
        self.assertEqual(json.loads(process.stdout.readline())["approval_id"], approval_id(1))
        owner.do("approvals 2 1")
        self.assertEqual(json.loads(process.stdout.readline())["approval_id"], approval_id(2))
        owner.end()
        self.own().do("approvals 3 1")
        self.assertEqual(json.loads(process.stdout.readline())["approval_id"], approval_id(3))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    def test_tail_misses_nothing_that_it_served_itself(self):
        """Whoever follows a free ledger owns it for moments, and others are then served by it."""
        owner = self.own()
        owner.do("approvals 1 40")
        owner.end()
        process = subprocess.Popen(
            # It may begin when many have been denied: -n has those, too.
            [harness.binary, "audit", "tail", "--follow", "-n", "40", "--type", "gate.denied", "--json", "--ledger", self.ledger],
            stdout=subprocess.PIPE,
        )
        self.addCleanup(process.stdout.close)
        for first in range(1, 41, 4):
            deciding = [
                subprocess.Popen(
                    [harness.binary, "approvals", "deny", approval_id(n), "--yes", "--ledger", self.ledger],
                    stdout=subprocess.DEVNULL,
                )
                for n in range(first, first + 4)
            ]
            self.assertEqual([one.wait() for one in deciding], [0] * 4)
        denied = {json.loads(process.stdout.readline())["approval_id"] for _ in range(40)}
        self.assertEqual(denied, {approval_id(n) for n in range(1, 41)})
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 0)

    def test_who_stops_reading_ends_what_waits_for_news(self):
        owner = self.own()
        owner.do("approvals 1 1")
        for arguments in (("audit", "tail", "--follow"), ("approvals", "watch")):
            process = subprocess.Popen(
                [harness.binary, *arguments, "--ledger", self.ledger], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            process.stdout.readline()
            process.stdout.close()
            process.wait()

    def test_an_export_to_a_full_disk_says_so(self):
        owner = self.own()
        owner.do("approvals 1 3")
        with open("/dev/full", "wb") as full:
            ran = subprocess.run(
                [harness.binary, "audit", "export", "--ledger", self.ledger], stdout=full, stderr=subprocess.PIPE
            )
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn(b"Standard output cannot be written: the disk is full.", ran.stderr)
        self.assertNotIn(b"called off", ran.stderr)
        self.assertEqual(ran.stderr.count(b"\n"), 1, ran)

    def test_an_export_that_cannot_be_written_names_the_file(self):
        owner = self.own()
        owner.do("approvals 1 3")

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        path = self.dir / "audit.jsonl"
        ran = subprocess.run(
            [harness.binary, "audit", "export", "--ledger", self.ledger, "-o", path],
            capture_output=True,
            preexec_fn=small_files,
        )
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn(f"{path} cannot be written".encode(), ran.stderr)
        self.assertFalse(path.exists())

    def test_who_stops_reading_ends_an_export(self):
        owner = self.own()
        owner.do("approvals 1 20000")
        for _ in range(2):
            process = subprocess.Popen(
                [harness.binary, "audit", "export", "--ledger", self.ledger],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            process.stdout.read(1000)
            process.stdout.close()
            self.assertNotEqual(process.wait(), 0)
            process.stderr.close()
            owner.end()


if __name__ == "__main__":
    harness.main(__doc__)
