#!/usr/bin/env python3
"""Who owns a ledger and how they are asked: owners that come and go, files of others, the socket.

Usage: owners_test.py BINARY [--sanitized] [TEST...]
The program ledger_owner stands beside BINARY.
"""

import json
import os
import pathlib
import shlex
import shutil
import socket
import struct
import subprocess

import harness
from ledger_harness import LedgerTest, approval_id


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


if __name__ == "__main__":
    harness.main(__doc__)
