#!/usr/bin/env python3
"""What the callgate program answers: verdicts, tool forms, options, JSON, colour.

Usage: cli_test.py BINARY [--sanitized] [TEST...]
"""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import struct
import termios

import harness
from harness import SCHEMA, TOOL, CliTest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "tools"


class Verdicts(CliTest):
    def test_good_arguments_are_exit_code_0(self):
        ran = self.validate(EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.good.json")
        self.assertEqual(ran.code, 0, ran)
        self.assertTrue(ran.out.startswith("✓ send_mail: "), ran)
        self.assertIn("MCP tool", ran.out)
        self.assertEqual(ran.err, "")

    def test_bad_arguments_are_exit_code_1_with_a_line_for_each_problem(self):
        ran = self.validate(EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.bad.json")
        self.assertEqual(ran.code, 1, ran)
        self.assertTrue(ran.out.startswith("✗ send_mail: "), ran)
        self.assertEqual(ran.err, "")
        for path, sentence, where in (
            ("/to", "Parameter 'to' expected array, got string", "#/properties/to/type"),
            ("/subjct", "Unknown parameter: subjct. Did you mean 'subject'?", "#/additionalProperties"),
            ("/retries", "Parameter 'retries' expected integer, got string", "#/properties/retries/type"),
            ("(root)", "Missing required parameter: subject", "#/required"),
        ):
            lines = [line for line in ran.out.splitlines() if sentence in line]
            self.assertEqual(len(lines), 1, ran)
            self.assertTrue(lines[0].strip().startswith(path) and lines[0].endswith(where), lines[0])

    def test_arguments_come_from_standard_input(self):
        tool = self.file("tool.json", TOOL)
        self.assertEqual(self.validate(tool, "-", stdin=b'{"path": "a"}').code, 0)
        self.assertEqual(self.validate(tool, "-", stdin=b"{}").code, 1)
        self.assertEqual(self.validate(tool, "-", stdin=b"{").code, 2)

    def test_the_tool_may_come_from_standard_input_instead(self):
        args = self.file("args.json", {"path": "a"})
        self.assertEqual(self.validate("-", args, stdin=json.dumps(TOOL).encode()).code, 0)
        self.assert_unusable("-", "-", reason="usage", says="not both")

    def test_without_arguments_the_schemas_are_checked_and_the_parameters_listed(self):
        ran = self.validate(EXAMPLES / "send_mail.json")
        self.assertEqual(ran.code, 0, ran)
        self.assertIn("JSON Schema 2020-12", ran.out)
        self.assertIn("send_mail(to: string[], subject: string, body: string, cc?: string[],", ran.out)
        row = next(line for line in ran.out.splitlines() if line.startswith("  subject "))
        self.assertEqual(row.split(None, 3), ["subject", "string", "yes", "One line"])

    def test_unknown_parameters_are_refused_unless_open(self):
        arguments = {"path": "a", "countt": 1}
        answer = self.verdict(TOOL, arguments)
        self.assertEqual([v["path"] for v in answer["violations"]], ["/countt"])
        self.assertIn("Did you mean 'count'?", answer["violations"][0]["message"])
        self.assertTrue(self.verdict(TOOL, arguments, "--open")["valid"])

    def test_a_schema_that_rules_on_unknown_parameters_is_obeyed(self):
        tool = {**TOOL, "inputSchema": {**SCHEMA, "additionalProperties": {"type": "integer"}}}
        self.assertTrue(self.verdict(tool, {"path": "a", "other": 1})["valid"])
        self.assertFalse(self.verdict(tool, {"path": "a", "other": "x"})["valid"])
        closed = {**TOOL, "inputSchema": {**SCHEMA, "additionalProperties": False}}
        self.assertFalse(self.verdict(closed, {"path": "a", "other": 1}, "--open")["valid"])

    def test_the_same_input_gives_the_same_answer(self):
        runs = {self.validate(EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.bad.json").out for _ in range(3)}
        self.assertEqual(len(runs), 1)


class ToolForms(CliTest):
    FORMS = (
        ("mcp", "MCP tool", TOOL),
        ("openai", "OpenAI Chat tool", {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}),
        ("responses", "OpenAI Responses tool", {"type": "function", "name": "read", "parameters": SCHEMA}),
        ("bare", "bare tool definition", {"name": "read", "parameters": SCHEMA}),
        ("gemini", "Gemini function declaration", {"name": "read", "parametersJsonSchema": SCHEMA}),
        ("anthropic", "Anthropic tool", {"name": "read", "input_schema": SCHEMA}),
        ("bedrock", "Bedrock tool", {"toolSpec": {"name": "read", "inputSchema": {"json": SCHEMA}}}),
        ("bare_schema", "bare JSON Schema", {**SCHEMA, "title": "read"}),
    )

    def test_every_form_is_recognised_named_and_applied(self):
        for form, words, tool in self.FORMS:
            with self.subTest(form):
                answer = self.verdict(tool, {"count": "x"})
                self.assertEqual((answer["form"], answer["tool"], answer["valid"]), (form, "read", False))
                self.assertEqual(len(answer["violations"]), 2)
                self.assertTrue(self.verdict(tool, {"path": "a"})["valid"])
                self.assertIn(words, self.validate(self.dir / "tool.json", self.dir / "args.json").out)

    def test_schema_forces_a_bare_schema(self):
        self.assertTrue(self.verdict({"name": "x", "inputSchema": False}, {"any": 1}, "--schema")["valid"])

    def test_what_is_neither_tool_nor_schema_is_refused(self):
        for document, reason in (
            ({"name": "read", "description": "has no schema"}, "not_a_tool"),
            ([], "not_a_tool"),
            ([[TOOL]], "bad_tools"),
            ([TOOL, {"name": "read", "inputSchema": "text"}], "bad_tools"),
            ({"tools": [TOOL, "text"]}, "bad_tools"),
            ("text", "not_a_tool"),
            ({"name": "read", "inputSchema": "text"}, "bad_tool"),
            ({"inputSchema": {}}, "bad_tool"),
        ):
            with self.subTest(document):
                self.assert_unusable(self.file("tool.json", json.dumps(document)), reason=reason)

    LISTS = (
        lambda tools: tools,
        lambda tools: {"tools": tools},
        lambda tools: {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}},
    )
    OTHER = {"name": "write", "input_schema": {"properties": {"text": {"type": "string"}}, "required": ["text"]}}

    def test_every_tool_of_a_list_is_checked(self):
        for wrap in self.LISTS:
            ran = self.validate("--json", self.file("tools.json", json.dumps(wrap([TOOL, self.OTHER]))))
            self.assertEqual(ran.code, 0, ran)
            answer = self.answer(ran)
            self.assertEqual([(one["tool"], one["valid"]) for one in answer["tools"]], [("read", True), ("write", True)])
        ran = self.validate(self.dir / "tools.json")
        self.assertEqual((ran.code, ran.out.count("✓")), (0, 2), ran)
        broken = {"name": "broken", "inputSchema": {"type": "nothing"}}
        ran = self.validate("--json", self.file("tools.json", json.dumps([TOOL, broken])))
        answer = self.answer(ran)
        self.assertEqual((ran.code, [one["valid"] for one in answer["tools"]]), (2, [True, False]), ran)
        self.assertIn("broken", answer["tools"][1]["error"]["message"])
        text = self.validate(self.dir / "tools.json")
        self.assertEqual(text.code, 2, text)
        self.assertIn("✓ read", text.out + text.err)
        self.assertIn("broken", text.out + text.err)

    CALLS = (
        lambda name, given: {"name": name, "arguments": given},
        lambda name, given: {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}},
        lambda name, given: {"type": "function", "function": {"name": name, "arguments": json.dumps(given)}},
        lambda name, given: {"type": "tool_use", "id": "x", "name": name, "input": given},
    )

    def test_a_whole_call_finds_its_tool_in_a_list(self):
        for call in self.CALLS:
            self.assertTrue(self.verdict([TOOL, self.OTHER], call("write", {"text": "a"}))["valid"])
            answer = self.verdict({"tools": [TOOL, self.OTHER]}, call("read", {"text": "a"}))
            self.assertEqual((answer["tool"], answer["valid"]), ("read", False))
        tools = self.file("tools.json", json.dumps([TOOL, self.OTHER]))
        self.assert_unusable(
            tools, self.file("call.json", {"name": "reed"}), reason="unknown_tool", says="Did you mean 'read'?"
        )
        self.assert_unusable(tools, self.file("call.json", {"path": "a"}), reason="not_a_call")
        self.assert_unusable(
            tools, self.file("call.json", {"name": "read", "argumnets": {"path": "a"}}), reason="misnamed_arguments"
        )
        self.assert_unusable(tools, self.file("call.json", {"method": "tools/list"}), reason="not_tools_call")
        twice = self.file("twice.json", json.dumps([TOOL, TOOL]))
        self.assert_unusable(twice, self.file("call.json", {"name": "read"}), reason="ambiguous_name")

    def test_a_whole_call_of_one_tool(self):
        for call in self.CALLS:
            self.assertTrue(self.verdict(TOOL, call("read", {"path": "a"}), "--call")["valid"])
        tool = self.file("tool.json", TOOL)
        self.assert_unusable("--call", tool, self.file("call.json", {"name": "write"}), reason="other_tool")

    def test_a_broken_output_schema_is_found_when_the_tool_is_checked(self):
        tool = self.file("tool.json", {**TOOL, "outputSchema": {"type": "nothing"}})
        self.assert_unusable(tool, reason="not_a_schema", says="/outputSchema")


class Options(CliTest):
    def test_format_decides_only_when_asked(self):
        schema = {"properties": {"when": {"type": "string", "format": "date-time"}}}
        self.assertTrue(self.verdict(schema, {"when": "soon"})["valid"])
        answer = self.verdict(schema, {"when": "soon"}, "--format")
        self.assertEqual(answer["violations"][0]["keyword"], "format")
        self.assertTrue(self.verdict(schema, {"when": "2024-05-14T10:00:00Z"}, "--format")["valid"])

    def test_coerce_mends_and_says_so(self):
        answer = self.verdict(TOOL, {"path": "a", "count": "7"}, "--coerce")
        self.assertTrue(answer["valid"])
        self.assertEqual(
            answer["coercions"],
            [{"path": "/count", "rule": "string_to_integer", "from": "string", "to": "integer"}],
        )
        self.assertEqual(answer["arguments"], {"path": "a", "count": 7})
        ran = self.validate("--coerce", self.dir / "tool.json", self.dir / "args.json")
        self.assertEqual(ran.code, 0, ran)
        self.assertIn("/count  string → integer", ran.out)

    def test_coerce_full_mends_booleans_too(self):
        schema = {"properties": {"on": {"type": "boolean"}}}
        self.assertFalse(self.verdict(schema, {"on": "true"}, "--coerce")["valid"])
        self.assertTrue(self.verdict(schema, {"on": "true"}, "--coerce=full")["valid"])

    def test_coerce_does_not_make_everything_valid(self):
        answer = self.verdict(TOOL, {"path": "a", "count": "seven"}, "--coerce")
        self.assertEqual((answer["valid"], answer["coercions"]), (False, []))

    def test_draft_chooses_the_dialect_where_the_schema_does_not(self):
        schema = {"items": [{"type": "string"}], "additionalItems": False}
        for draft in ("draft-07", "2019-09"):
            answer = self.verdict(schema, ["a", "b"], "--draft", draft)
            self.assertEqual((answer["dialect"], answer["valid"]), (draft, False))
        named = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
        self.assertEqual(self.verdict(named, ["a"], "--draft", "2020-12")["dialect"], "draft-07")

    def test_resources_are_what_refs_may_reach(self):
        address = self.file("address.json", {"type": "object", "required": ["street"]})
        street = self.file("street.json", {"type": "string"})
        schema = {"properties": {"home": {"$ref": "https://example.org/address"}, "way": {"$ref": "urn:street"}}}
        options = ("--resource", f"https://example.org/address={address}", "--resource", f"urn:street={street}")
        self.assertTrue(self.verdict(schema, {"home": {"street": "x"}, "way": "y"}, *options)["valid"])
        answer = self.verdict(schema, {"home": {}, "way": 7}, *options)
        self.assertEqual({v["path"] for v in answer["violations"]}, {"/home", "/way"})

    def test_resources_must_be_named_and_there(self):
        tool = self.file("tool.json", TOOL)
        file = self.file("a.json", {})
        self.assert_unusable("--resource", file, tool, reason="usage", says="URI=FILE")
        self.assert_unusable("--resource", f"relative={file}", tool, reason="bad_resource_uri")
        self.assert_unusable("--resource", f"urn:a={self.dir}/none", tool, reason="file_missing")

    def test_pcre2_allows_what_re2_cannot(self):
        schema = {"properties": {"word": {"type": "string", "pattern": r"^(?!admin).*$"}}}
        self.assert_unusable(self.file("tool.json", schema), reason="unsupported_pattern")
        self.assertTrue(self.verdict(schema, {"word": "guest"}, "--pcre2")["valid"])
        self.assertFalse(self.verdict(schema, {"word": "admin"}, "--pcre2")["valid"])

    def test_limits_can_be_set(self):
        tool = self.file("tool.json", {})
        args = self.file("args.json", [[[[1, 2, 3]]]])
        self.assertEqual(self.validate(tool, args).code, 0)
        self.assert_unusable("--max-depth", "3", tool, args, reason="too_deep")
        self.assert_unusable("--max-nodes", "5", tool, args, reason="too_many_nodes")
        self.assert_unusable("--max-bytes", "10", tool, args, reason="file_too_large", says="--max-bytes")
        self.assertEqual(self.validate("--max-bytes", "1k", tool, args).code, 0)

    def test_max_errors_cuts_the_list_and_says_so(self):
        answer = self.verdict({"items": {"type": "string"}}, list(range(50)), "--max-errors", "3")
        self.assertEqual((len(answer["violations"]), answer["truncated"]), (3, True))
        ran = self.validate("--max-errors", "3", self.dir / "tool.json", self.dir / "args.json")
        self.assertIn("more than 3 problems", ran.out)

    def test_wrong_usage_is_exit_code_2(self):
        for arguments in ([], ["--nonsense"], ["a", "b", "c"], ["--draft", "draft-03", "a"], ["--max-bytes", "x", "a"]):
            with self.subTest(arguments):
                self.assert_unusable(*arguments, reason="usage", says="--help")

    def test_help_and_version(self):
        self.assertEqual(self.run_program().code, 0)
        self.assertEqual(self.run_program().out, self.run_program("--help").out)
        self.assertRegex(self.run_program("--version").out, r"^callgate \d+\.\d+\.\d+\n$")
        help_text = self.run_program("validate", "--help")
        self.assertEqual((help_text.code, help_text.err), (0, ""))
        self.assertIn("Exit codes", help_text.out)
        self.assertEqual(self.run_program("frobnicate").code, 2)


class JsonAnswer(CliTest):
    def test_a_valid_call(self):
        answer = self.verdict(TOOL, {"path": "a"})
        expected = {
            "valid": True, "tool": "read", "form": "mcp", "dialect": "2020-12", "violations": [], "truncated": False,
            "coercions": [], "error": None,
        }  # fmt: skip
        self.assertEqual(answer, expected)

    def test_an_invalid_call(self):
        answer = self.verdict(TOOL, {"count": 1})
        self.assertEqual(
            answer["violations"],
            [{
                "path": "", "schema_path": "#/required", "keyword": "required",
                "message": "Missing required parameter: path",
            }],
        )  # fmt: skip

    def test_a_tool_alone(self):
        answer = self.answer(self.validate("--json", self.file("tool.json", TOOL)))
        self.assertEqual(answer["compact"], "read(path: string, count?: integer)")
        self.assertEqual(
            answer["parameters"][0], {"name": "path", "type": "string", "required": True, "description": ""}
        )

    def test_unreadable_text_has_its_place(self):
        tool = self.file("tool.json", TOOL)
        error = self.assert_unusable(tool, self.file("args.json", '{\n "path": oops}'), reason="unexpected_character")
        details = error["details"]
        self.assertEqual((error["code"], details["line"], details["column"]), ("invalid_arguments", 2, 10))

    def test_names_that_are_no_plain_text_survive(self):
        name = 'a"\\\n\u001b\u20ac'
        answer = self.verdict(SCHEMA, {"path": "x", name: 1})
        self.assertEqual(answer["violations"][0]["path"], "/" + name)


class TerminalOutput(CliTest):
    def on_terminal(self, *arguments, columns=100, env=None):
        """What the program writes to a terminal."""
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        env = {"TERM": "xterm", "NO_COLOR": "", **(env or {})}
        try:
            self.run_program(*arguments, stdin=b"", stdout=side, stderr=side, env=env)
        finally:
            os.close(side)
        text = b""
        # The end of a terminal whose other side is closed is an error on Linux.
        with contextlib.suppress(OSError), os.fdopen(main, "rb", buffering=0) as out:
            while block := out.read(65536):
                text += block
        return text.decode().replace("\r\n", "\n")

    def test_colour_on_a_terminal(self):
        bad = ("validate", EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.bad.json")
        shown = self.on_terminal(*bad)
        self.assertIn("\x1b[1;31m✗\x1b[0m", shown)
        self.assertIn("\x1b[2m#/properties/to/type\x1b[0m", shown)
        self.assertNotIn("\x1b", self.on_terminal(*bad, env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", self.on_terminal(*bad, env={"TERM": "dumb"}))
        self.assertNotIn("\x1b", self.on_terminal(*bad, "--color=never"))

    def test_no_colour_elsewhere_unless_asked_for(self):
        bad = (EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.bad.json")
        self.assertNotIn("\x1b", self.validate(*bad).out)
        self.assertIn("\x1b[", self.validate("--color=always", *bad).out)
        self.assertIn("\x1b[", self.validate("--color", "always", *bad, env={"NO_COLOR": "1"}).out)
        self.assertIn("\x1b[", self.validate("--color=always", "none.json").err)

    def test_json_is_never_coloured(self):
        ran = self.validate("--json", "--color=always", EXAMPLES / "send_mail.json", EXAMPLES / "send_mail.bad.json")
        self.assertNotIn("\x1b", ran.out)

    def test_lines_fit_the_terminal(self):
        shown = self.on_terminal("validate", EXAMPLES / "send_mail.json", columns=70, env={"NO_COLOR": "1"})
        self.assertIn("send_mail(to: string[]", shown)
        for line in shown.splitlines():
            self.assertLessEqual(len(line), 70, line)

    def test_documents_cannot_write_to_the_terminal(self):
        schema = {"title": "\x1b[2Jtool", "properties": {"a": {"type": "string"}}, "description": "\x1b]0;x\x07"}
        tool = self.file("tool.json", schema)
        args = self.file("args.json", {"\x1b[31mred\u202e": 1, "\x07": 2})
        for arguments in ((tool,), (tool, args), (tool, self.file("bad.json", '["\x1b[2J"]')), ("\x1b[2J.json",)):
            ran = self.validate(*arguments)
            for character in "\x1b\x07\u202e":
                self.assertNotIn(character, ran.out + ran.err)


if __name__ == "__main__":
    harness.main(__doc__)
