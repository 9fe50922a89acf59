#!/usr/bin/env python3
"""The runtime on the command line: tools, call and policy, with their exit codes, and what they do with bad input.

Usage: call_test.py BINARY [--sanitized] [TEST...]
"""

import contextlib
import json
import os
import signal
import subprocess

import harness
from harness import CliTest

MAIL = '{"to": ["ada@example.org"], "subject": "Hi"}'


class RuntimeTest(CliTest):
    def call(self, *arguments, **how):
        return self.run_program("call", *arguments, **how)

    def policy(self, *arguments, **how):
        return self.run_program("policy", *arguments, **how)

    def json_of(self, ran):
        """What --json printed: one document, and nothing on standard error."""
        self.assertEqual(ran.err, "", ran)
        return json.loads(ran.out)

    def assert_clear(self, ran, code, *says):
        """Nothing on standard output, and a clear sentence on standard error."""
        self.assertEqual(ran.code, code, ran)
        self.assertEqual(ran.out, "", ran)
        self.assertLess(len(ran.err), 4000, ran)
        for text in says:
            self.assertIn(text, ran.err, ran)


class Tools(RuntimeTest):
    def test_the_demo_set_for_people_and_programs(self):
        ran = self.run_program("tools")
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        answer = self.json_of(self.run_program("tools", "--json"))
        self.assertEqual(
            [tool["name"] for tool in answer["tools"]], ["add", "count", "fail", "flaky", "notes", "send_mail"]
        )
        for tool in answer["tools"]:
            self.assertIn(tool["compact"], ran.out)
            self.assertIn(tool["shows"], ran.out)

    def test_scopes_decide_what_is_shown(self):
        shown = self.json_of(self.run_program("tools", "--json", "--scopes", "mail"))
        self.assertNotIn("notes", [tool["name"] for tool in shown["tools"]])
        self.assertIn("notes(", self.run_program("tools", "--scopes=mail,notes").out)


class Call(RuntimeTest):
    def test_exit_codes(self):
        for arguments, code, state in (
            (("add", '{"a": 5, "b": 3}'), 0, "succeeded"),
            (("fail",), 1, "failed"),
            (("count", '{"to": 1000, "step_ms": 10000}', "--timeout", "20"), 1, "timed_out"),
            (("nothing",), 3, "not_found"),
            (("add", "{}"), 3, "invalid"),
            (("notes", '{"name": "todo"}', "--action", "read"), 3, "scope_denied"),
            (("send_mail", '{"to": ["a@x.org", "b@x.org"], "subject": "Hi"}'), 3, "denied"),
            (("notes", '{"name": "a"}', "--action=write", "--scope=notes", "--autonomy=A0"), 3, "previewed"),
            (("send_mail", MAIL), 4, "needs_approval"),
            (("fail", '{"how": "lost"}'), 5, "unknown"),
        ):
            with self.subTest(arguments):
                self.assertEqual(self.call(*arguments).code, code)
                ran = self.call(*arguments, "--json")
                self.assertEqual(ran.code, code, ran)
                answer = self.json_of(ran)
                self.assertEqual(answer["state"], state)
                self.assertEqual(answer["success"], code == 0)
                self.assertEqual(len(answer["call_id"]), 36)

    def test_results_and_everything_else_are_apart(self):
        ran = self.call("add", '{"a": 5, "b": 3}', "--trace")
        self.assertEqual((ran.code, ran.out), (0, "8\n"), ran)
        self.assertIn("  gate ", ran.err)
        self.assert_clear(self.call("fail", '{"message": "no paper"}'), 1, "✗ fail: failed", "no paper", "tool_error")

    def test_arguments_and_whole_calls_come_from_standard_input(self):
        self.assertEqual(self.call("add", "-", stdin=b'{"a": 5, "b": 3}').out, "8\n")
        for sent in (
            {"name": "add", "arguments": {"a": 1, "b": 2}},
            {"function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}},
            {"functionCall": {"name": "add", "args": {"a": 1, "b": 2}}},
            {"toolUse": {"toolUseId": "x", "name": "add", "input": {"a": 1, "b": 2}}},
        ):
            self.assertEqual(self.call("-", stdin=json.dumps(sent).encode()).out, "3\n")
        self.assert_clear(self.call("-", stdin=b"[]"), 3, "no tool call")
        self.assert_clear(self.call("-", stdin=b'{"name": '), 3, "not usable JSON")
        self.assert_clear(self.call("-", "{}", stdin=b"{}"), 2, "brings its own arguments")

    def test_a_whole_call_has_an_action(self):
        call = b'{"name": "notes", "arguments": {"name": "todo"}}'
        ran = self.call("-", "--action", "read", "--scope", "notes", "--json", stdin=call)
        self.assertEqual(self.json_of(ran)["action"], "read", ran)

    def test_a_whole_call_loses_no_arguments(self):
        for sent in (
            b'{"name": "fail", "argumnets": {"how": "throw"}}',
            b'{"name": "fail", "parameters": {"how": "throw"}}',
            b'{"name": "fail", "arguments": {}, "input": {"how": "throw"}}',
            b'{"method": "tools/call", "params": {"name": "fail"}, "arguments": {"how": "throw"}}',
        ):
            ran = self.call("-", stdin=sent)
            self.assert_clear(ran, 3, "invalid arguments", '"arguments"')
            self.assertNotIn("attempt", ran.err)

    def test_nothing_is_no_call_without_arguments(self):
        for sent in (b"", b" \n"):
            self.assert_clear(self.call("fail", "-", stdin=sent), 2, "no arguments in it")
            self.assert_clear(self.call("-", stdin=sent), 2, "no tool call in it")
        self.assert_clear(self.call("fail", ""), 2, "JSON")
        self.assertEqual(self.call("fail").code, 1)

    def test_progress_is_a_line_each_and_not_in_the_result(self):
        ran = self.call("count", '{"to": 3, "step_ms": 0}')
        self.assertEqual((ran.code, ran.out), (0, "counted to 3\n"), ran)
        self.assertEqual(ran.err.count("count: counted to"), 3, ran)

    def test_approval_by_another_person_only(self):
        ran = self.call("send_mail", MAIL, "--approve-as", "grace", "--json")
        self.assertEqual(ran.code, 0, ran)
        answer = self.json_of(ran)
        self.assertEqual(answer["content"], "sent 'Hi' to ada@example.org")
        self.assertEqual(answer["approval"]["votes"][0]["approver"], "grace")
        self.assert_clear(self.call("send_mail", MAIL, "--approve-as", "LOCAL"), 4, "cannot decide it")

    def test_ctrl_c_calls_it_off(self):
        process = subprocess.Popen(
            [harness.binary, "call", "count", '{"to": 1000, "step_ms": 100}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.addCleanup(process.kill)
        self.assertIn(b"counted to 1", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual((process.returncode, out), (1, b""), err)
        self.assertIn("called off", err.decode())


class BadCall(RuntimeTest):
    def test_bad_input_is_told_clearly(self):
        for arguments, code, says in (
            (("send_mial",), 3, ("Did you mean: send_mail?",)),
            (("add", '{"a": 1,'), 3, ("line 1, column 9", "^")),
            (("add", "{'a': 1}"), 3, ("^",)),
            (("add", "[1, 2]"), 3, ("not an array",)),
            (("add", '"{}'), 3, ("not usable JSON",)),
            (("add", "null"), 3, ("not null",)),
            (("add", '{"a": 1, "a": 2}'), 3, ("not usable JSON",)),
            (("add", '{"a": 1e400, "b": 2}'), 3, ("not usable JSON",)),
            (("add", '{"a": 9007199254740993, "b": 2}'), 3, ("a",)),
            (("notes", '{"name": "todo"}', "--scope", "notes", "--action", "raed"), 3, ("it has: ",)),
            (("add", "{}", "--timout", "5"), 2, ("Did you mean --timeout?", "callgate call --help")),
            (("add", "--timeout", "-5"), 2, ("--timeout",)),
            (("add", "--autonomy", "a2"), 2, ("--autonomy",)),
            ((), 2, ("NAME",)),
        ):
            with self.subTest(arguments):
                self.assert_clear(self.call(*arguments), code, *says)
                ran = self.call(*arguments, "--json")
                self.assertEqual(ran.code, code, ran)
                self.assertTrue(self.json_of(ran)["error"]["message"])

    def test_hostile_arguments(self):
        for sent in (b"[" * 1_000_000, b'{"a":' * 100_000, b'{"a": "' + b"x" * 3_000_000 + b'"}', b"\xff\xfe"):
            with self.subTest(sent[:20]):
                ran = self.call("add", "-", stdin=sent)
                self.assertEqual((ran.code, ran.out), (3, ""), ran)
                self.assertLess(len(ran.err), 4000)
        self.assert_clear(self.call("add", "-", stdin=b" " * (5 << 20)), 2, "limit")
        self.assert_clear(self.call("x" * 100_000), 3, "not found")

    def test_nothing_written_can_play_tricks(self):
        for arguments in (
            ("\x1b[2J",),
            ("fail", '{"message": "\\u001b[2J\\u202e"}'),
            ("add", '{"\x1b[2J'),
            ("add", '{"a": 1, "\\u001b[31m": 2}', "--trace"),
        ):
            ran = self.call(*arguments)
            for character in "\x1b\x07\u202e":
                self.assertNotIn(character, ran.out + ran.err)

    def test_closed_streams(self):
        self.assertEqual(self.call("add", '{"a": 1, "b": 2}', stdin=subprocess.DEVNULL, closed=(0,)).code, 0)
        with open("/dev/full", "wb") as full:
            for arguments, code, says in (
                (("add", '{"a": 1, "b": 2}'), 6, b"succeeded, call 0"),
                (("send_mail", MAIL, "--autonomy=A4", "--json"), 6, b"succeeded, call 0"),
                (("fail", '{"how": "lost"}', "--json"), 5, b"outcome unknown, call 0"),
                (("fail", "{}", "--json"), 1, b"failed, call 0"),
            ):
                ran = self.call(*arguments, stdout=full)
                self.assertEqual(ran.returncode, code, ran)
                self.assertIn(b"could not be written", ran.stderr)
                self.assertIn(says, b" ".join(ran.stderr.split()))


class Policy(RuntimeTest):
    POLICY = {
        "rules": [
            {
                "id": "house", "decision": "deny", "tools": ["send_mail"], "reason": "mail leaves the house",
                "arguments": {"properties": {"to": {"items": {"not": {"pattern": "@example[.]org$"}}}}},
            },
            {"id": "rest", "decision": "confirm", "tools": ["*"], "approvals": 2},
        ]
    }  # fmt: skip

    def test_a_decision_is_explained_stage_by_stage(self):
        policy = self.file("policy.json", self.POLICY)
        outside = {"tool": "send_mail", "arguments": {"to": ["x@evil.test"], "subject": "s"}}
        ran = self.policy("test", "--policy", policy, self.file("call.json", outside))
        self.assertEqual((ran.code, ran.err), (3, ""), ran)
        for text in ("resolve", "authorize", "validate", "classify", "gate", "mail leaves the house", "rule 'house'"):
            self.assertIn(text, ran.out)
        inside = {"tool": "add", "arguments": {"a": 1, "b": 2}}
        ran = self.policy("test", "--json", "--policy", policy, "-", stdin=json.dumps(inside).encode())
        self.assertEqual(ran.code, 4, ran)
        decision = self.json_of(ran)["decision"]
        self.assertEqual((decision["gate"], decision["rule"], decision["approvals"]), ("confirm", "rest", 2))
        self.assertEqual(self.policy("test", self.file("call.json", inside)).code, 0)

    def test_lint(self):
        ran = self.policy("lint", self.file("policy.json", self.POLICY))
        self.assertEqual(ran.code, 0, ran)
        bad = {"rules": [*self.POLICY["rules"], {"id": "late", "decision": "allow", "tools": ["ad"]}]}
        ran = self.policy("lint", "--json", self.file("policy.json", bad))
        self.assertEqual(ran.code, 1, ran)
        whats = {finding["what"] for finding in self.json_of(ran)["findings"]}
        self.assertEqual(whats, {"unknown_tool", "shadowed"})

    def test_unusable_files(self):
        call = self.file("call.json", {"tool": "add"})
        for arguments, says in (
            (("lint", self.dir / "none.json"), "none.json"),
            (("lint", self.dir), "directory"),
            (("lint", self.file("broken.json", '{"rules": [}')), "^"),
            (("lint", self.file("unknown.json", {"rulez": []})), "did you mean 'rules'?"),
            (("lint", self.file("member.json", {"rules": [{"decision": "allow", "tool": ["x"]}]})), "'tools'"),
            (("lint", self.file("schema.json", {"rules": [{"decision": "deny", "arguments": {"type": 5}}]})), "rule"),
            (("lint", self.file("big.json", b'"' + b"x" * (5 << 20) + b'"')), "limit"),
            (("test", call, "--policy", self.dir / "none.json"), "none.json"),
            (("test", self.dir / "none.json"), "none.json"),
            (("test", self.file("list.json", [])), "object"),
            (("test", self.file("typo.json", {"tool": "add", "argument": {}})), "did you mean 'arguments'?"),
            (("test", self.file("time.json", {"tool": "add", "time": "noon"})), "2026-05-14T22:30:00Z"),
            (("tset", call), "Did you mean test?"),
            (("lint", call, "--jsn"), "Did you mean --json?"),
        ):
            with self.subTest(arguments):
                self.assert_clear(self.policy(*arguments), 2, says)
                ran = self.policy(*arguments, "--json")
                self.assertEqual(ran.code, 2, ran)
                self.assertTrue(self.json_of(ran)["error"]["message"])


class AtATerminal(RuntimeTest):
    def on_terminal(self, *arguments, typed=b""):
        """What the program writes to a terminal where somebody types once they are asked; and its exit code."""
        process, main = harness.start_at_terminal(self, arguments, 100)
        text = b""
        with contextlib.suppress(OSError), os.fdopen(main, "r+b", buffering=0) as terminal:
            while block := terminal.read(65536):
                text += block
                if typed and b"[y/N] " in text:
                    terminal.write(typed)
                    typed = b""
        return process.wait(), text.decode().replace("\r\n", "\n")

    def test_a_person_is_asked(self):
        code, shown = self.on_terminal("call", "send_mail", MAIL, typed=b"y\n")
        self.assertEqual(code, 0, shown)
        self.assertIn("Approve? [y/N] ", shown)
        self.assertTrue(shown.endswith("sent 'Hi' to ada@example.org\n"), shown)
        code, shown = self.on_terminal("call", "send_mail", MAIL, typed=b"n\n")
        self.assertEqual(code, 3, shown)
        self.assertIn("A person refused this call.", shown)
        for typed in (b"\n", b"u\n"):
            code, shown = self.on_terminal("call", "send_mail", MAIL, typed=typed)
            self.assertEqual(code, 4, shown)
            self.assertIn("Nothing was decided", shown)
        code, shown = self.on_terminal("call", "send_mail", MAIL, typed=b"\x04")
        self.assertEqual(code, 4, shown)

    def test_what_is_awaited_is_said(self):
        process, main = harness.start_at_terminal(self, ("call", "add", "-"), 100)
        with os.fdopen(main, "r+b", buffering=0) as terminal:
            text = b""
            while b"Ctrl-D ends it." not in text:
                text += terminal.read(65536)
            terminal.write(b'{"a": 1, "b": 2}\n\x04')
            with contextlib.suppress(OSError):
                while block := terminal.read(65536):
                    text += block
        self.assertEqual(process.wait(), 0, text)

    def test_progress_is_one_line_that_is_written_over(self):
        code, shown = self.on_terminal("call", "count", '{"to": 3, "step_ms": 0}')
        self.assertEqual(code, 0, shown)
        self.assertIn("\rcount: counted to 2 (2 of 3, 67 %)", shown)
        self.assertEqual(shown.count("\n"), 2, shown)
        self.assertTrue(shown.endswith("\r✓ count: succeeded\ncounted to 3\n"), shown)

    def test_lines_fit_the_terminal(self):
        for arguments in (("tools",), ("call", "add", '{"a": 1, "b": 2}', "--trace")):
            for line in self.on_terminal(*arguments)[1].splitlines():
                self.assertLessEqual(len(line), 100, line)


if __name__ == "__main__":
    harness.main(__doc__)
