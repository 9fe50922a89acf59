#!/usr/bin/env python3
"""The scripts behind the pages find what is wrong: a shown line that is not printed, two ids where the page has one, a
broken link, a heading that is gone, a measured row that nobody can make, an example in a header whose tool says nothing of
itself."""
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/docs"))
import links  # noqa: E402
import measured  # noqa: E402
import pages  # noqa: E402
import shown  # noqa: E402
import snippets  # noqa: E402

A, B, C = (f"01a1e084-f93c-7000-856d-{digit * 12}" for digit in "abc")


class Shown(unittest.TestCase):
    def test_what_may_differ_may_differ(self):
        names = shown.Names()
        self.assertIsNone(names.match([f"call {A} at 2026-01-01 10:00:00, 5 ms", "x   y"],
                                      [f"call {B} at 2027-02-02 11:11:11, 7 ms", "x y"]))
        self.assertEqual(names.translate(f"show {A}"), f"show {B}")

    def test_another_word_is_found(self):
        self.assertEqual(shown.Names().match(["it succeeded"], ["it failed"]), ("it succeeded", "it failed"))
        self.assertIsNotNone(shown.Names().match(["one"], ["one", "two"]))
        self.assertIsNotNone(shown.Names().match(["one", "two"], ["one"]))

    def test_one_id_of_the_page_is_one_real_id(self):
        self.assertIsNotNone(shown.Names().match([A, A], [B, C]))
        self.assertIsNone(shown.Names().match([A, A, B], [B, B, C]))

    def test_left_out_lines(self):
        self.assertIsNone(shown.Names().match(["a", "…", "z"], ["a", "b", "c", "z"]))
        self.assertIsNotNone(shown.Names().match(["a", "…", "z"], ["a", "b", "c"]))


class Pages(unittest.TestCase):
    def page(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "page.md").write_text(text, encoding="utf-8")
        patch = mock.patch.object(pages, "ROOT", pathlib.Path(folder.name).resolve())
        patch.start()
        self.addCleanup(patch.stop)

    def test_blocks_and_their_marks(self):
        self.page("# T\n<!-- not run: why -->\n```console\n$ x\n```\n\n```cpp\nint a;\n```\n")
        first, second = pages.blocks("page.md")
        self.assertEqual((first.mark, first.argument, first.lines), ("not run", "why", ["$ x"]))
        self.assertEqual((second.mark, second.language, second.line), (None, "cpp", 7))

    def test_examples_in_a_headers_comments(self):
        self.page("// A header.\n//\n//     int a;\n//       int b;\n//\n// Prose:\n//   a list\n//     that goes on\n#pragma once\n"
                  "    ///\n    ///     int c;\n    int d;\n//\n    int e;\n")
        first, second = pages.examples("page.md")
        self.assertEqual((first.language, first.line, first.text), ("cpp", 2, "int a;\n  int b;\n"))
        self.assertEqual((second.line, second.text), (10, "int c;\n"))

    def test_the_headers_that_show_how_have_examples(self):
        found = {pathlib.Path(header).name for header in pages.public_headers() if pages.examples(header)}
        self.assertLessEqual({"approvals.h", "async.h", "runtime.h", "typed.h"}, found)

    def test_an_example_is_given_what_it_does_not_declare(self):
        self.page('//\n//     cg::Runtime runtime;  // args\n//     runtime.call("asked");\n//\n//     runtime.call("x", args);\n')
        own, others = pages.examples("page.md")
        self.assertEqual(snippets.given(own), [])
        self.assertEqual(snippets.given(others), ["cg::Runtime& runtime", "const cg::Args& args"])

    def test_an_example_whose_tool_declares_nothing_is_refused(self):
        self.page('//\n//     cg::tool("x", "", f);\n//\n//     cg::tool("x", "", f).risk(cg::Risk::low).read_only();\n')
        silent, declared = pages.examples("page.md")
        self.assertIn(".risk", snippets.fault_of_example("x", silent, "/bin/true"))
        self.assertIsNone(snippets.fault_of_example("x", declared, "/bin/true"))
        self.assertIn("exit code 1", snippets.fault_of_example("x", declared, "/bin/false"))

    def test_broken_links_are_found(self):
        self.page("# A heading, with `code`!\n\n## Twice\n## Twice\n")
        for good in ("page.md", "#a-heading-with-code", "page.md#twice-1", "https://example.org/x"):
            self.assertIsNone(links.broken("page.md", good), good)
        for bad in ("gone.md", "#twice-2", "page.md#nowhere", "../page.md"):
            self.assertIsNotNone(links.broken("page.md", bad), bad)


class Measured(unittest.TestCase):
    def test_a_result_line_is_taken_as_it_is(self):
        self.assertEqual(measured.result_of("noise\nRESULT a=1 b=2\n", "x"), "a=1 b=2")
        with self.assertRaises(SystemExit):
            measured.result_of("no figures", "x")

    def test_a_row_that_was_typed_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "measured.md"
            page.write_text("<!-- measured -->\n| crash | today | abc | fine |\n<!-- /measured -->\n", encoding="utf-8")
            with mock.patch.object(measured, "PAGE", page), self.assertRaises(SystemExit):
                measured.parts()


if __name__ == "__main__":
    unittest.main()
