#!/usr/bin/env python3
"""Bad input for the callgate program: each gives one clear error, in bounded memory and time, and no death by signal.

Usage: bad_input_test.py BINARY [--sanitized] [TEST...]
"""

import json
import os
import socket
import subprocess
import sys
import unittest

import harness
from harness import MIB, TOOL, CliTest


class BadSchema(CliTest):
    def refused(self, schema, reason, says=""):
        with self.subTest(json.dumps(schema)[:100]):
            tool = self.file("tool.json", {"name": "t", "inputSchema": schema})
            error = self.assert_unusable(tool, reason=reason, says=says)
            self.assertEqual(error["code"], "config_error")
            # With arguments the answer is the same: they are not judged by a broken schema.
            self.assert_unusable(tool, self.file("args.json", {}), reason=reason, says=says)

    def test_a_schema_that_is_no_schema(self):
        self.refused({"type": "strin"}, "not_a_schema", "type")
        self.refused({"type": 5}, "not_a_schema")
        self.refused({"properties": []}, "not_a_schema", "properties")
        self.refused({"properties": {"a": {"minimum": "low"}}}, "not_a_schema", "/properties/a/minimum")
        self.refused({"required": "a"}, "not_a_schema")
        self.refused({"anyOf": []}, "not_a_schema")
        self.refused({"properties": {"a": 7}}, "not_a_schema")

    def test_an_unknown_dialect(self):
        self.refused({"$schema": "https://example.org/mine"}, "unknown_dialect")

    def test_a_ref_to_nowhere(self):
        self.refused({"$ref": "#/$defs/none"}, "unresolved_ref", "#/$defs/none")
        self.refused({"properties": {"a": {"$ref": "#nowhere"}}}, "unresolved_ref")

    def test_a_ref_to_the_network_never_touches_it(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
            self.refused({"properties": {"a": {"$ref": url}}}, "remote_ref", url)
            self.refused({"$id": url, "$ref": "other.json"}, "remote_ref")
            self.refused({"$schema": url}, "unknown_dialect")
            with self.assertRaises(BlockingIOError):
                server.accept()

    def test_a_ref_in_circles(self):
        self.refused({"$ref": "#"}, "cyclic_ref")
        loop = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
        self.refused({"properties": {"x": {"$ref": "#/$defs/a"}}, **loop}, "cyclic_ref")
        self.refused({"allOf": [{"$ref": "#"}]}, "cyclic_ref")
        self.refused({"anyOf": [{"type": "string"}, {"not": {"$ref": "#"}}]}, "cyclic_ref")

    def test_recursion_with_progress_is_fine(self):
        tree = {"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
        self.assertTrue(self.verdict(tree, {"children": [{"children": []}]})["valid"])

    def test_patterns_that_are_none(self):
        self.refused({"properties": {"a": {"pattern": "("}}}, "bad_pattern")
        self.refused({"patternProperties": {"[": True}}, "bad_pattern")
        self.refused({"properties": {"a": {"pattern": "x" * 5000}}}, "unsupported_pattern", "4096")

    def test_schemas_that_are_too_large(self):
        self.refused({"enum": list(range(60_000))}, "too_large")
        self.refused({"anyOf": [{"minLength": n} for n in range(12_000)]}, "too_large")
        deep = {}
        for _ in range(200):
            deep = {"properties": {"a": deep}}
        self.refused(deep, "too_deep")


class BadText(CliTest):
    def both(self, content, reason, says=""):
        """The same text as arguments and as the tool."""
        with self.subTest(content[:60]):
            good = self.file("good.json", TOOL)
            bad = self.file("bad.json", content)
            error = self.assert_unusable(good, bad, reason=reason, says=says)
            self.assertEqual(error["code"], "invalid_arguments")
            error = self.assert_unusable(bad, reason=reason, says=says)
            self.assertEqual(error["code"], "config_error")
            self.assert_unusable(good, "-", reason=reason, says=says, stdin=content)

    def test_what_is_not_json(self):
        self.both(b"", "unexpected_end", "empty")
        self.both(b" \n\t", "unexpected_end", "empty")
        self.both(b'{"path": "a"', "unexpected_end")
        self.both(b"{'path': 1}", "unexpected_character")
        self.both(b'{"path": "a",}', "unexpected_character")
        self.both(b'{"a": 1} {"b": 2}', "trailing_text")
        self.both(b"NaN", "unexpected_character", "NaN")
        self.both(b'{"a": 1, "a": 2}', "duplicate_key")
        self.both(b"[01]", "bad_number")
        self.both(b"[1e999]", "number_out_of_range")
        self.both(b"[123456789012345678901234567890]", "inexact_integer")
        self.both(b'["\\ud800"]', "bad_surrogate")
        self.both(b'["\x01"]', "control_character")

    def test_bytes_that_are_not_utf8(self):
        self.both(b'{"path": "caf\xe9"}', "bad_utf8", "UTF-8")
        self.both(b'{"caf\xe9": 1}', "bad_utf8")
        self.both(b'["\xc0\xaf"]', "bad_utf8")
        self.both(b'["\xed\xa0\x80"]', "bad_utf8")
        self.both('{"a": 1}'.encode("utf-16"), "byte_order_mark", "plain UTF-8")
        self.both(b"\xef\xbb\xbf{}", "byte_order_mark")
        self.both(b"\x00\x01\x02\x03", "unexpected_character")

    def test_the_line_is_shown_with_a_caret_under_the_column(self):
        tool = self.file("tool.json", TOOL)
        ran = self.validate(tool, self.file("args.json", '{\n  "path": "ü", oops\n}'))
        lines = ran.err.splitlines()
        self.assertEqual(len(lines), 3, ran)
        self.assertIn("line 2", lines[0])
        self.assertTrue(lines[1].endswith('"path": "ü", oops'), ran)
        self.assertEqual(lines[2].index("^"), lines[1].index("oops"), ran)


class BadFile(CliTest):
    def test_a_directory(self):
        tool = self.file("tool.json", TOOL)
        self.assert_unusable(self.dir, reason="file_is_directory", says="directory")
        self.assert_unusable(tool, self.dir, reason="file_is_directory", says="directory")
        fd = os.open(self.dir, os.O_RDONLY)
        try:
            ran = self.validate(tool, "-", stdin=fd)
        finally:
            os.close(fd)
        self.assertEqual((ran.code, ran.out), (2, ""), ran)
        self.assertIn("directory", ran.err)

    def test_a_missing_file(self):
        tool = self.file("tool.json", TOOL)
        self.assert_unusable(self.dir / "none.json", reason="file_missing", says="none.json")
        self.assert_unusable(tool, self.dir / "none.json", reason="file_missing", says="none.json")
        self.assert_unusable(tool, "", self.dir / "none.json", reason="usage")
        self.assert_unusable(tool, '{"path": "a"}', reason="file_missing", says="standard input")

    def test_a_pipe_or_device(self):
        tool = self.file("tool.json", TOOL)
        os.mkfifo(self.dir / "pipe")
        self.assert_unusable(tool, self.dir / "pipe", reason="file_is_special")
        self.assert_unusable(tool, "/dev/zero", reason="file_is_special")

    @unittest.skipIf(os.geteuid() == 0, "not as this user: root may read everything")
    def test_a_file_that_may_not_be_read(self):
        tool = self.file("tool.json", TOOL)
        os.chmod(tool, 0)
        self.assert_unusable(tool, reason="file_permission")

    def test_endless_standard_input(self):
        with open("/dev/zero", "rb") as zeros:
            ran = self.validate(self.file("tool.json", TOOL), "-", stdin=zeros)
        self.assertEqual((ran.code, ran.out), (2, ""), ran)
        self.assertIn("limit", ran.err)

    def test_closed_standard_input(self):
        ran = self.validate(self.file("tool.json", TOOL), "-", stdin=subprocess.DEVNULL, closed=(0,))
        self.assertEqual(ran.code, 2, ran)
        self.assertIn("Standard input", ran.err)

    def test_output_that_cannot_be_written(self):
        tool = self.file("tool.json", TOOL)
        with open("/dev/full", "wb") as full:
            self.assertEqual(self.validate(tool, stdout=full).returncode, 2)
        reader, writer = os.pipe()
        os.close(reader)
        try:
            self.assertEqual(self.validate(tool, stdout=writer).returncode, 2)
        finally:
            os.close(writer)


class Bombs(CliTest):
    def test_a_ten_million_deep_array(self):
        tool = self.file("tool.json", {})
        bomb = self.file("bomb.json", b"[" * 10_000_000 + b"]" * 10_000_000)
        self.assert_unusable(tool, bomb, reason="file_too_large")
        self.assert_unusable("--max-bytes", "64M", tool, bomb, reason="too_deep")
        self.assert_unusable("--max-bytes", "64M", "--max-depth", "1000", tool, bomb, reason="too_deep")
        self.assert_unusable("--max-bytes", "64M", bomb, reason="too_deep")

    def test_ten_million_deep_objects_that_never_close(self):
        bomb = self.file("bomb.json", b'{"a":' * 10_000_000)
        self.assert_unusable("--max-bytes", "64M", self.file("tool.json", {}), bomb, reason="too_deep")
        self.assert_unusable("--max-bytes", "64M", "--schema", bomb, reason="too_deep")

    def test_a_100_mb_string(self):
        block = b"a" * MIB
        bomb = self.file("bomb.json", iter([b'{"path": "', *[block] * 100, b'"}']))
        tool = self.file("tool.json", {"properties": {"path": {"type": "string", "maxLength": 10}}})
        self.assert_unusable(tool, bomb, reason="file_too_large")
        self.assert_unusable(bomb, reason="file_too_large")
        # Room for it by the operator's word: then it is judged like any other.
        ran = self.validate("--max-bytes", "200M", tool, bomb)
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("at most 10 characters", ran.out)
        self.assertLess(len(ran.out), 2000)

    @unittest.skipIf("--sanitized" in sys.argv, "not in this build: the address space of a sanitized program is not limited")
    def test_memory_that_does_not_suffice(self):
        bomb = self.file("bomb.json", iter([b'{"path": "', *[b"a" * MIB] * 100, b'"}']))
        ran = self.validate("--json", "--max-bytes", "200M", self.file("tool.json", {}), bomb, memory=200 * MIB)
        self.assertEqual(ran.code, 2, ran)
        self.assertEqual(self.answer(ran)["error"]["details"]["reason"], "out_of_memory")

    def test_names_as_long_as_the_document_are_clipped_for_people(self):
        args = self.file("args.json", {"k" * 100_000: [1] * 20})
        ran = self.validate("--open", self.file("tool.json", {"additionalProperties": {"items": False}}), args)
        self.assertEqual(ran.code, 1, ran)
        self.assertLess(len(ran.out), 20_000)

    def test_many_small_values(self):
        bomb = self.file("bomb.json", b"[" + b"0," * 1_000_000 + b"0]")
        self.assert_unusable(self.file("tool.json", {}), bomb, reason="too_many_nodes")

    def any_of_bomb(self, levels, keyword="anyOf", **beside):
        defs = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2, **beside} for n in range(levels)}
        return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"type": "object", "required": ["none"]}}}

    def test_nested_any_of_with_2_to_the_30_paths(self):
        args = self.file("args.json", {"a": 1})
        for keyword in ("anyOf", "oneOf"):
            for beside in ({}, {"minProperties": 1}, {"unevaluatedProperties": False}):
                with self.subTest(keyword, beside=beside):
                    tool = self.file("tool.json", self.any_of_bomb(30, keyword, **beside))
                    self.assertEqual(self.validate(tool).code, 0)
                    self.assert_unusable(tool, args, reason="over_budget", says="too costly")

    def test_nested_all_of_with_2_to_the_30_paths(self):
        bomb = self.any_of_bomb(30, "allOf")
        bomb["$defs"]["d30"] = {"type": "object"}
        self.assert_unusable(self.file("tool.json", bomb), self.file("args.json", {"a": 1}), reason="over_budget")

    def test_nested_any_of_under_coercion(self):
        bomb = {"properties": {"a": self.any_of_bomb(30)["$defs"]["d0"]}, "$defs": self.any_of_bomb(30)["$defs"]}
        args = self.file("args.json", {"a": "{}"})
        self.assert_unusable("--coerce=full", self.file("tool.json", bomb), args, reason="over_budget")

    def test_an_evil_regex_takes_linear_time(self):
        args = {"a": "a" * 50_000 + "!"}
        for pattern in ("^(a+)+$", "^(a|aa)+$", "^(a*)*$", "^([a-zA-Z]+)*$", "(.*a){20}$"):
            with self.subTest(pattern):
                answer = self.verdict({"properties": {"a": {"pattern": pattern}}}, args)
                self.assertEqual([v["keyword"] for v in answer["violations"]], ["pattern"])

    def test_an_evil_regex_for_pcre2_ends_at_its_match_limit(self):
        schema = {"properties": {"a": {"pattern": r"^(?=(a+)+b)(a+)+\1$"}}}
        tool, args = self.file("tool.json", schema), self.file("args.json", {"a": "a" * 5_000 + "!"})
        ran = self.validate("--pcre2", tool, args)
        self.assertEqual(ran.code, 2, ran)
        self.assert_unusable("--pcre2", tool, args, reason="over_budget")

    def test_a_regex_that_is_huge_once_written_out(self):
        for pattern in ("((((x{100}){100}){100}){100})", "(" * 2000 + "a" + ")" * 2000, "x{1,1000}" * 400):
            with self.subTest(pattern[:30]):
                tool = self.file("tool.json", {"properties": {"a": {"pattern": pattern}}})
                ran = self.validate(tool, self.file("args.json", {"a": "x"}))
                self.assertIn(ran.code, (1, 2), ran)
                self.assertTrue(ran.out or ran.err.startswith("✗ "), ran)

    def test_a_hundred_thousand_unique_items_are_judged(self):
        args = list(range(99_000))
        self.assertTrue(self.verdict({"uniqueItems": True}, args)["valid"])
        self.assertFalse(self.verdict({"uniqueItems": True}, args + [5])["valid"])

    def test_many_problems_are_cut(self):
        answer = self.verdict({"items": {"type": "string", "minLength": 3}}, [1] * 90_000)
        self.assertEqual((len(answer["violations"]), answer["truncated"]), (100, True))


if __name__ == "__main__":
    harness.main(__doc__)
