#!/usr/bin/env python3
"""The operators' verbs on a real ledger, while a process owns it and while none does.

Usage: operators_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import pwd
import resource
import shlex
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios

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


class OwnersComeAndGo(LedgerTest):
    def test_a_killed_owner_leaves_a_socket_that_disturbs_nobody(self):
        owner = self.own()
        owner.do("approvals 1 1")
        owner.kill()
        self.assertTrue(os.path.exists(self.ledger + "/control.sock"))
        self.assertEqual(self.approval(1)["state"], "pending")
        self.assertEqual(self.json("audit", "tail", "-n", "1")["events"][0]["detail"], "after an unclean stop")
        self.own().do("approvals 2 1")
        self.assertEqual(len(self.json("approvals", "list")["approvals"]), 2)

    def test_verbs_at_the_same_time_on_a_free_ledger_all_answer(self):
        owner = self.own()
        owner.do("approvals 1 8")
        owner.end()
        # Whoever is first owns the ledger and serves the others.
        running = [
            subprocess.Popen(
                [harness.binary, "approvals", "deny", approval_id(n), "--yes", "--json", "--ledger", self.ledger],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for n in range(1, 9)
        ]
        for process in running:
            out, err = process.communicate()
            self.assertEqual((process.returncode, err), (0, b""), out)
        self.assertEqual(self.json("approvals", "list")["approvals"], [])

    def test_there_is_no_ledger_and_none_is_made(self):
        for arguments in (("approvals", "list"), ("calls", "list"), ("ledger", "stats"), ("audit", "tail")):
            ran = self.verb(*arguments)
            self.assertEqual((ran.code, ran.out), (2, ""), ran)
            self.assertIn("There is no ledger in", ran.err)
        self.assertFalse(os.path.exists(self.ledger))

    def test_an_empty_file_is_no_ledger(self):
        os.mkdir(self.ledger, 0o700)
        pathlib.Path(self.ledger, "ledger.db").touch()
        error = self.json("calls", "list", code=2)["error"]
        self.assertEqual(error["details"]["reason"], "no_ledger")
        self.assertEqual(os.listdir(self.ledger), ["ledger.db"])

    def test_files_of_another_user_are_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("not as this user: only root can give files away")
        self.own().end()
        for path in (self.ledger, *pathlib.Path(self.ledger).iterdir()):
            os.chown(path, 65534, 65534)
        before = sorted(os.listdir(self.ledger))
        error = self.json("approvals", "list", code=2)["error"]
        self.assertEqual(error["details"]["reason"], "not_allowed")
        self.assertIn("belong to", error["message"])
        self.assertEqual(sorted(os.listdir(self.ledger)), before)

    def test_a_directory_that_is_a_link_is_not_called_a_file(self):
        self.own().end()
        os.symlink(self.ledger, str(self.dir / "link"))
        ran = self.run_program("calls", "list", "--ledger", self.dir / "link")
        self.assertEqual(ran.code, 2, ran)
        self.assertIn("a directory on the way to it", ran.err)

    def test_an_own_directory_that_may_not_be_entered_is_not_somebody_elses(self):
        if os.geteuid() != 0:
            self.skipTest("not as this user: only root can give files away")
        self.own().end()
        os.chmod(self.dir, 0o711)
        os.chown(self.ledger, 65534, 65534)
        os.chmod(self.ledger, 0)
        try:
            ran = self.verb("calls", "list", user=65534, group=65534, extra_groups=[])
        except PermissionError as error:
            self.skipTest(f"not on this machine: another user may not run the program here: {error}")
        self.assertEqual(ran.code, 2, ran)
        self.assertIn("is yours, and its mode 000 does not let you enter it", ran.err)
        self.assertIn(f"chmod 700 '{self.ledger}'", ran.err)

    def test_what_is_said_about_a_moved_ledger_can_be_copied(self):
        self.own().end()
        self.ledger = shutil.copytree(self.ledger, str(self.dir / "it's moved"))
        ran = self.verb("calls", "list")
        self.assertEqual(ran.code, 2, ran)
        hint = ran.err[ran.err.index("callgate ledger restore") :].split(". If it is")[0]
        words = shlex.split(hint)[1:]
        self.assertEqual(words, ["ledger", "restore", "--moved", "--ledger", self.ledger])
        self.assertEqual(self.run_program(*words, "--yes").code, 0)
        self.assertEqual(self.verb("calls", "list").code, 0)

    def test_the_environment_names_the_ledger(self):
        self.own().do("approvals 1 1")
        ran = self.run_program("approvals", "list", env={"CALLGATE_LEDGER": self.ledger})
        self.assertIn(approval_id(1), ran.out)
        ran = self.run_program("approvals", "list", env={"CALLGATE_LEDGER": "", "XDG_STATE_HOME": str(self.dir)})
        self.assertIn(str(self.dir / "callgate"), ran.err)

    def test_a_path_longer_than_a_sockets_name(self):
        deep = self.dir / ("d" * 120)
        deep.mkdir(mode=0o700)
        self.ledger = str(deep / "ledger")
        owner = self.own()
        owner.do("approvals 1 1")
        self.both_ways(owner, lambda: self.assertEqual(self.approval(1)["state"], "pending"))


class TheSocket(LedgerTest):
    def connect(self):
        conversation = socket.socket(socket.AF_UNIX)
        self.addCleanup(conversation.close)
        conversation.connect(self.ledger + "/control.sock")
        return conversation

    def ask(self, conversation, request):
        text = request if isinstance(request, bytes) else json.dumps(request).encode()
        conversation.sendall(struct.pack(">I", len(text)) + text)
        return self.answer(conversation)

    def answer(self, conversation):
        def exactly(size):
            data = b""
            while len(data) < size:
                block = conversation.recv(size - len(data))
                if not block:
                    return None
                data += block
            return data

        head = exactly(4)
        return None if head is None else json.loads(exactly(struct.unpack(">I", head)[0]))

    def test_the_protocol_as_documented(self):
        owner = self.own()
        owner.do("approvals 1 2")
        conversation = self.connect()
        self.assertEqual(self.ask(conversation, {"v": 1, "verb": "ping"})["result"]["pid"], owner.process.pid)
        page = self.ask(conversation, {"v": 1, "verb": "approvals.list", "limit": 1})["result"]
        self.assertEqual(page["next"], approval_id(2))
        digest = page["approvals"][0]["digest"]
        vote = {"v": 1, "verb": "approvals.vote", "id": approval_id(2), "approve": True, "digest": digest}
        self.assertEqual(self.ask(conversation, vote)["result"]["approval"]["state"], "approved")
        refused = self.ask(conversation, vote)
        self.assertEqual((refused["ok"], refused["error"]["details"]["reason"]), (False, "already_decided"))

    def test_garbage_is_refused_and_others_are_served(self):
        self.own()
        bad = self.connect()
        for text in (b"", b"{", b"[]", b'{"v":1,"v":1}', b'"\xff"', b"[" * 1000, b"null"):
            self.assertIs(self.ask(bad, text)["ok"], False)
        for request in ({}, {"v": 1}, {"v": 1, "verb": "x"}, {"v": 2, "verb": "ping"}, {"v": 1, "verb": "ping", "x": 1}):
            self.assertIs(self.ask(bad, request)["ok"], False)
        self.assertTrue(self.ask(bad, {"v": 1, "verb": "ping"})["ok"])
        bad.sendall(b"\xff\xff\xff\xff")
        self.assertEqual(self.answer(bad)["error"]["details"]["reason"], "message_too_large")
        self.assertIsNone(self.answer(bad))
        self.assertEqual(self.json("approvals", "list")["approvals"], [])

    def test_many_who_never_say_anything_hold_up_nobody(self):
        self.own()
        silent = [self.connect() for _ in range(60)]
        self.assertEqual(self.json("approvals", "list")["approvals"], [])
        self.assertEqual(len(silent), 60)

    def test_the_socket_is_private(self):
        self.own()
        self.assertEqual(os.stat(self.ledger + "/control.sock").st_mode & 0o777, 0o600)


class OperatorsAtATerminal(LedgerTest):
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
