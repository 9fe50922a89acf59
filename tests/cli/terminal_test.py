#!/usr/bin/env python3
"""The program at a terminal of 80 columns: help, lists, errors; ids as lists show them; completion and man pages.

Usage: terminal_test.py BINARY [--sanitized] [TEST...]
"""

import json
import os

import harness
import terminal_walk
from harness import CliTest


MAIL = '{"to": ["ada@example.org"], "subject": "Hi"}'


class LedgerTest(CliTest):
    def setUp(self):
        super().setUp()
        self.env = {"CALLGATE_LEDGER": str(self.dir / "ledger")}

    def verb(self, *arguments, code=0, **how):
        ran = self.run_program(*arguments, env=self.env, **how)
        self.assertEqual(ran.code, code, ran)
        return ran

    def json(self, *arguments, code=0, **how):
        return json.loads(self.verb(*arguments, "--json", code=code, **how).out)

    def shown(self, *arguments, columns=80):
        env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **self.env}
        try:
            return terminal_walk.at_terminal(harness.binary, arguments, columns, env)[1]
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")

    def approve(self):
        (waits,) = self.json("approvals", "list")["approvals"]
        self.verb("approvals", "approve", waits["id"], "--yes", "--digest", waits["digest"])
        return waits


class Recorded(LedgerTest):
    def test_all_has_reads_and_refusals(self):
        self.verb("call", "add", '{"a": 1, "b": 2}')
        self.verb("call", "no_such_tool", "{}", code=3)
        self.verb("call", "notes", '{"name": "x"}', "--action", "read", code=3)
        self.verb("call", "send_mail", MAIL, code=4)
        self.verb("call", "fail", "{}", code=1)
        self.assertEqual([one["tool"] for one in self.json("calls", "list")["calls"]], ["fail"])
        calls = self.json("calls", "list", "--all")["calls"]
        self.assertEqual(
            [(one["tool"], one["state"]) for one in calls],
            [
                ("fail", "failed"),
                ("send_mail", "waiting"),
                ("notes", "refused"),
                ("no_such_tool", "refused"),
                ("add", "succeeded"),
            ],
        )
        self.assertEqual([one["recorded"] for one in calls], ["row"] + ["events"] * 4)
        self.assertEqual(len(self.json("calls", "list", "--all", "--tool", "add")["calls"]), 1)
        for one in calls:
            if one["state"] != "waiting":
                shown = self.json("calls", "show", one["call_id"])["call"]
                self.assertEqual((shown["call_id"], shown["state"]), (one["call_id"], one["state"]))
                self.assertTrue(shown["events"])
        # Page by page it is the same list.
        seen, before = [], []
        while True:
            page = self.json("calls", "list", "--all", "--limit", "2", *before)
            seen += [one["call_id"] for one in page["calls"]]
            if page["next"] is None:
                break
            before = ["--before", page["next"]]
        self.assertEqual(seen, [one["call_id"] for one in calls])
        self.verb("calls", "list", "--all", "--unknown", code=2)

    def test_a_resumed_call_is_found_under_the_id_that_asked(self):
        asked = self.json("call", "send_mail", MAIL, code=4)["call_id"]
        waits = self.json("calls", "show", asked)["call"]
        self.assertEqual((waits["call_id"], waits["state"], waits["ended_at"]), (asked, "waiting", None))
        self.approve()
        ran = self.json("call", "--resume", asked[-12:])["call_id"]
        self.assertNotEqual(ran, asked)
        for given in (asked, ran, asked[-10:], ran[-10:]):
            shown = self.json("calls", "show", given)
            self.assertEqual((shown["call"]["call_id"], shown["asked_as"]), (ran, asked), given)
            text = self.verb("calls", "show", given).out
            self.assertIn(asked, text)
            self.assertIn(ran, text)


class Lists(LedgerTest):
    def test_ids_of_a_list_are_taken_back(self):
        for _ in range(3):
            self.verb("call", "fail", "{}", code=1)
        calls = [one["call_id"] for one in self.json("calls", "list")["calls"]]
        lines = self.shown("calls", "list").splitlines()[1:]
        self.assertEqual(len(lines), 3)
        for line, call in zip(lines, calls):
            short = line.split()[0]
            self.assertTrue(call.endswith(short) and len(short) < 20, line)
            self.assertEqual(self.json("calls", "show", short)["call"]["call_id"], call)

    def test_a_pipe_gets_everything(self):
        principal = "a.principal.with.a.very.long.name.indeed@department.of.names.example.org"
        self.verb("call", "fail", "{}", "--principal", principal, "--key", "k" * 90, code=1)
        text = self.verb("calls", "list").out
        (call,) = self.json("calls", "list")["calls"]
        for whole in (call["call_id"], principal, "k" * 90, "unsafe"):
            self.assertIn(whole, text)
        self.assertNotIn("…", text)
        self.assertEqual(text, self.verb("calls", "list").out)

    def test_columns_say_how_wide_a_terminal_is_that_does_not(self):
        self.env["COLUMNS"] = "50"
        for line in self.shown("tools", columns=0).splitlines():
            self.assertLessEqual(terminal_walk.width(line), 50, line)
        self.env["COLUMNS"] = "nonsense"
        wide = [terminal_walk.width(line) for line in self.shown("tools", columns=0).splitlines()]
        self.assertTrue(50 < max(wide) <= 80, wide)


class McpCalls(LedgerTest):
    def request(self, arguments, method="tools/call", **meta):
        params = {"name": "add", "arguments": arguments, **({"_meta": meta} if meta else {})}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()

    def test_a_request_and_its_params_are_calls(self):
        self.assertEqual(self.verb("call", "-", stdin=self.request({"a": 1, "b": 2})).out, "3\n")
        params = b'{"name": "add", "arguments": {"a": 2, "b": 2}, "_meta": {"progressToken": 1}}'
        self.assertEqual(self.verb("call", "-", stdin=params).out, "4\n")
        self.verb("call", "-", stdin=self.request({"a": "x"}), code=3)
        self.verb("call", "-", stdin=self.request({}, method="tools/list"), code=2)

    def test_its_key_counts(self):
        request = self.request({"a": 1, "b": 2}, **{"callgate/idempotencyKey": "k-1"})
        self.assertFalse(self.json("call", "-", stdin=request)["replayed"])
        self.assertTrue(self.json("call", "-", stdin=request)["replayed"])
        (call,) = self.json("calls", "list")["calls"]
        self.assertEqual(call["idempotency_key"], "k-1")


class EightyColumns(CliTest):
    def walk(self, take):
        try:
            return take()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")

    def test_every_verb_runs_and_nothing_is_wider_than_the_terminal(self):
        walk = self.walk(lambda: terminal_walk.walk(harness.binary, self.dir))
        self.assertEqual(walk.failed, [])
        self.assertEqual(walk.too_wide, [])
        self.assertGreaterEqual(len(walk.verbs), 40)
        print(f"steps={walk.steps} verbs={len(walk.verbs)} lines_over_80={len(walk.too_wide)}")

    def test_the_walk_sees_what_is_too_wide(self):
        walk = terminal_walk.Walk(harness.binary, self.dir, columns=60)
        self.walk(lambda: walk.look("help"))
        self.assertNotEqual(walk.too_wide, [])
        self.assertEqual(terminal_walk.width("a bar of progress\rdone \x1b[1m✓\x1b[0m"), len("a bar of progress"))

    def test_the_walk_names_a_verb_that_it_did_not_run(self):
        walk = terminal_walk.Walk(harness.binary, self.dir)
        walk.verbs = [("version",), ("audit", "key"), ("audit", "show")]
        self.walk(lambda: walk.look("version"))
        walk.look("audit", "key", "--help")
        walk.look("audit", "show", "1", codes=(2,))
        walk.judge()
        self.assertEqual(walk.failed, [f"no step ran `callgate audit {verb}` to its success" for verb in ("key", "show")])

    def test_the_walk_sees_a_question_that_is_not_asked(self):
        walk = terminal_walk.Walk(harness.binary, self.dir)
        self.walk(lambda: walk.look("version", typed=terminal_walk.YES))
        self.assertEqual(len(walk.failed), 1)


if __name__ == "__main__":
    harness.main(__doc__)
