#!/usr/bin/env python3
"""The check scripts find what is planted, and nothing in what only looks like it.

Usage: check_test.py [Includes|Banned|Coro|Words|Guards|SourceText]
"""

import tempfile
import unittest
from pathlib import Path

import check_banned
import check_coro
import check_guards
import check_includes
import check_words
import source_text


def findings(check, tree):
    """What a check finds in a repository made of {path: text}, as "path:line" strings."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return [f"{file}:{line}" for file, line, _ in check.check(root)]


class SourceText(unittest.TestCase):
    def test_blanks_comments_and_literals_and_keeps_places(self):
        text = 'a /* x */ "b\\"c" \'"\' // d\ne 1\'000 R"q(f)" g)q" h'
        code = source_text.code_only(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.split(), ["a", '"', '"', "'", "'", "e", "1'000", "R", '"', "h"])

    def test_a_digit_separator_opens_no_character_literal(self):
        self.assertIn("rand", source_text.code_only("int a = 1'000; rand(); int b = 2'000;"))


class Includes(unittest.TestCase):
    def includes(self, tree):
        return findings(check_includes, tree)

    def test_a_folder_may_include_itself_and_those_above(self):
        tree = {
            "src/json/a.h": '#include "json/b.h"\n#include "base/c.h"\n#include <callgate/json.h>\n#include <vector>\n',
            "src/json/b.h": '#include "a.h"\n',
            "src/base/c.h": "",
            "include/callgate/json.h": "#include <callgate/error.h>\n",
        }
        self.assertEqual(self.includes(tree), [])

    def test_finds_a_folder_that_looks_down(self):
        self.assertEqual(self.includes({"src/base/a.h": '\n#include "schema/x.h"\n'}), ["src/base/a.h:2"])

    def test_finds_it_through_a_relative_path(self):
        tree = {"src/base/a.h": '#include "../json/x.h"\n', "src/json/x.h": ""}
        self.assertEqual(self.includes(tree), ["src/base/a.h:1"])

    def test_finds_it_in_a_subfolder(self):
        tree = {"src/ledger/sqlite/a.h": '#include "base/b.h"\n#include "pipeline/x.h"\n'}
        self.assertEqual(self.includes(tree), ["src/ledger/sqlite/a.h:2"])

    def test_finds_a_subfolder_that_looks_at_one_it_may_not_see(self):
        tree = {
            "src/ledger/audit/a.h": '#include "ledger/audit/b.h"\n#include "ledger/sqlite/x.h"\n#include "ledger/control/x.h"\n',
            "src/ledger/control/a.cpp": '#include "ledger/ledger.h"\n#include "ledger/sqlite/x.h"\n',
            "src/ledger/sqlite/a.h": '#include "ledger/audit/b.h"\n#include "../control/x.h"\n',
            "src/ledger/control/x.h": "",
            "src/ledger/a.h": '#include "ledger/audit/b.h"\n#include "ledger/sqlite/x.h"\n',
            "src/ledger/a_test.cpp": '#include "ledger/sqlite/x.h"\n',
            "CMakeLists.txt": "callgate_folder(ledger)\n",
        }
        self.assertEqual(
            self.includes(tree),
            ["src/ledger/a.h:2", "src/ledger/audit/a.h:2", "src/ledger/audit/a.h:3", "src/ledger/control/a.cpp:2",
             "src/ledger/sqlite/a.h:2"],
        )  # fmt: skip

    def test_finds_a_subfolder_without_a_place(self):
        self.assertEqual(self.includes({"src/ledger/postgres/a.h": ""}), ["src/ledger/postgres/a.h:1"])

    def test_finds_a_look_behind_the_face_of_a_folder(self):
        source = '#include "ledger/ledger.h"\n#include "ledger/digest.h"\n#include "ledger/memory_ledger.h"\n'
        tree = {
            "src/pipeline/a.h": source,
            "src/pipeline/b.cpp": '#include "ledger/sqlite/x.h"\n',
            "src/pipeline/a_test.cpp": source,
            "src/pipeline/a_testing.h": source,
            "src/wire_core.cpp": source,
            "src/ledger/a.h": source,
            "CMakeLists.txt": "callgate_folder(pipeline)\n",
        }
        self.assertEqual(self.includes(tree), ["src/pipeline/a.h:3", "src/pipeline/b.cpp:1"])

    def test_finds_a_path_into_apps(self):
        tree = {
            "apps/callgate/verb.h": "",
            "src/os/a.h": '#include "../../apps/callgate/verb.h"\n#include "apps/callgate/gone.h"\n#include "verb.h"\n',
            "include/callgate/a.h": '#include "../../apps/callgate/verb.h"\n',
            "tests/e2e/a.cpp": '#include "verb.h"\n#include "../../apps/callgate/verb.h"\n',
            "apps/callgate/a.cpp": '#include "verb.h"\n#include "../callgate/verb.h"\n',
        }
        self.assertEqual(
            self.includes(tree),
            ["include/callgate/a.h:1", "src/os/a.h:1", "src/os/a.h:2", "src/os/a.h:3", "tests/e2e/a.cpp:2"],
        )

    def test_finds_a_class_that_is_declared_across_the_order(self):
        tree = {
            "src/pipeline/call.h": "namespace callgate::pipeline {\nclass Call final : public Base {\n};\n}\n",
            "src/ledger/a.h": "namespace callgate::pipeline {\nclass Call;\n}\n",
            "src/ledger/b.h": "namespace callgate {\nnamespace pipeline { struct Unknown; }\n}\n",
            "src/policy/c.h": "namespace callgate {\nclass Call;\n}\n",
            "src/ledger/sqlite/writer.h": "namespace callgate::ledger {\nclass Writer {\n};\n}\n",
            "src/ledger/audit/d.h": "namespace callgate::ledger {\nclass Writer;\n}\n",
        }
        self.assertEqual(
            self.includes(tree), ["src/ledger/a.h:2", "src/ledger/audit/d.h:2", "src/ledger/b.h:2", "src/policy/c.h:2"]
        )

    def test_a_class_in_sight_may_be_declared(self):
        tree = {
            "src/base/clock.h": "namespace callgate::base {\nclass Clock {\n};\n}\n",
            "src/json/a.h": "namespace callgate::base {\nclass Clock;\n}\nnamespace callgate::json {\nclass Own;\n}\n",
            "src/json/b.h": "namespace callgate::json {\nstruct Outer { class Call; };\n// class Call;\n}\n",
            "src/json/own.h": "namespace callgate::json {\nclass Own : Base {};\nclass Runtime;\n}\n",
            "include/callgate/runtime.h": "namespace callgate {\nclass Runtime {};\nclass Call;\n}\n",
            "src/pipeline/call.h": "namespace callgate::pipeline {\nclass Call {};\nvoid f(class Runtime& r);\n}\n",
            "tests/e2e/a.cpp": "namespace callgate::pipeline {\nclass Call;\n}\n",
        }
        self.assertEqual(self.includes(tree), [])

    def test_finds_a_public_header_that_needs_src(self):
        tree = {"include/callgate/a.h": '#include "base/b.h"\n', "src/base/b.h": ""}
        self.assertEqual(self.includes(tree), ["include/callgate/a.h:1"])

    def test_finds_beast_outside_net(self):
        tree = {"src/net/a.cpp": "#include <boost/beast/http.hpp>\n", "src/mcp/a.h": "#include <boost/beast.hpp>\n",
                "CMakeLists.txt": "callgate_folder(net callgate_mcp)\ncallgate_folder(mcp callgate_mcp)\n"}  # fmt: skip
        self.assertEqual(self.includes(tree), ["src/mcp/a.h:1"])

    def test_finds_asio_in_a_public_header_other_than_async(self):
        asio = "#include <boost/asio/awaitable.hpp>\n"
        tree = {"include/callgate/async.h": asio, "include/callgate/call.h": asio, "src/os/a.h": asio}
        self.assertEqual(self.includes(tree), ["include/callgate/call.h:1"])

    def test_finds_an_unknown_folder(self):
        self.assertEqual(self.includes({"src/misc/a.h": ""}), ["src/misc/a.h:1"])

    def test_finds_a_folder_that_cmake_does_not_build_or_builds_out_of_order(self):
        tree = {"src/base/a.cpp": "", "src/json/a.cpp": "", "CMakeLists.txt": "callgate_folder(base)\n"}
        self.assertEqual(self.includes(tree), ["CMakeLists.txt:1"])
        tree["CMakeLists.txt"] = "callgate_folder(json)\ncallgate_folder(base)\n"
        self.assertEqual(self.includes(tree), ["CMakeLists.txt:1"])

    def test_finds_a_folder_in_the_wrong_library(self):
        right = "callgate_folder(base)\ncallgate_folder(agent)\ncallgate_folder(net callgate_mcp)\ncallgate_folder(mcp callgate_mcp)\n"
        self.assertEqual(self.includes({"CMakeLists.txt": right}), [])
        wrong = "callgate_folder(base callgate_mcp)\ncallgate_folder(pipeline callgate)\n  callgate_folder( net )\ncallgate_folder(mcp callgate)\n"
        self.assertEqual(self.includes({"CMakeLists.txt": wrong}), ["CMakeLists.txt:1", "CMakeLists.txt:3", "CMakeLists.txt:4"])

    def test_finds_a_header_of_mcp_in_the_core(self):
        server = "#include <callgate/mcp_server.h>\n"
        tree = {
            "include/callgate/mcp_server.h": "#include <callgate/tool.h>\n",
            "include/callgate/mcp.h": server,
            "include/callgate/tool.h": server,
            "src/base/a.h": '#include "callgate/mcp.h"\n',
            "src/wire_core.cpp": server,
            "src/net/a.h": server,
            "tests/x/a.cpp": server,
        }
        self.assertEqual(self.includes(tree), ["include/callgate/tool.h:1", "src/base/a.h:1", "src/wire_core.cpp:1"])

    def test_a_comment_is_no_include(self):
        self.assertEqual(self.includes({"src/base/a.h": '// #include "schema/x.h"\n/*\n#include "json/x.h"\n*/'}), [])


class Banned(unittest.TestCase):
    def lines(self, text, path="src/base/a.cpp"):
        return [int(found.rsplit(":", 1)[1]) for found in findings(check_banned, {path: text})]

    def test_finds_each_banned_call(self):
        calls = ["system(c);", "std::system(c);", "::system(c);", "std::regex r;", "std::regex_match(a, b);",
                 "#include <regex>", "sprintf(b, f);", "std::vsprintf(b, f, v);", "int x = rand();", "std::rand();",
                 "auto f = &std::rand;", "srand(1);"]  # fmt: skip
        self.assertEqual(self.lines("\n".join(calls)), list(range(1, len(calls) + 1)))

    def test_comments_literals_members_and_other_names_do_not_count(self):
        self.assertEqual(
            self.lines(
                '// system(x)\nf("rand()");\nx.system(y);\nboost::system::error_code e;\nsnprintf(b, n, f);\n'
                'operand(x); my_rand(x); p->rand(); g(R"(std::regex)");\n'
            ),
            [],
        )

    def test_finds_the_locks_that_clang_cannot_check_in_product_sources_only(self):
        locks = ("std::mutex m;\nstd::shared_mutex s;\nstd::condition_variable c;\nstd::condition_variable_any a;\n"
                 "std::recursive_mutex r;\nconst std::lock_guard l(m);\nstd::unique_lock u(m);\nstd::scoped_lock k(m);\n"
                 "std::shared_lock h(s);\nbase::Mutex fine;\nstd::once_flag fine;\n")  # fmt: skip
        self.assertEqual(self.lines(locks, "src/base/a.cpp"), list(range(1, 10)))
        self.assertEqual(self.lines(locks, "src/policy/sub/a.h"), list(range(1, 10)))
        for path in ("src/base/mutex.h", "src/base/a_test.cpp", "src/base/a_testing.h", "tests/hosts/a.cpp"):
            with self.subTest(path):
                self.assertEqual(self.lines(locks, path), [])

    def test_finds_sleep_in_tests_only(self):
        sleeps = "std::this_thread::sleep_for(1ms);\nusleep(3);\n::sleep(1);\nsleep(1);\n"
        self.assertEqual(self.lines(sleeps, "src/base/a_test.cpp"), [1, 2, 3, 4])
        self.assertEqual(self.lines(sleeps, "tests/e2e/helper.h"), [1, 2, 3, 4])
        self.assertEqual(self.lines(sleeps, "src/base/a.cpp"), [])

    def test_finds_sleep_in_test_scripts(self):
        self.assertEqual(self.lines("import time\n# sleep(1)\ntime.sleep(1)\ns = 'sleep(2)'\n", "tests/e2e/a.py"), [3])
        self.assertEqual(self.lines("# sleep 1\ntrue; sleep 1\nsleep 0.5\nasleep 1\n", "tests/e2e/a.sh"), [2, 3])

    def test_finds_a_skip_that_nobody_learns_of(self):
        skips = "import unittest\n@unittest.skipIf(x, 'y')\nself.skipTest('z')  # skipTest\nraise unittest.SkipTest('skipTest')\n"
        self.assertEqual(self.lines(skips, "tests/e2e/a.py"), [2, 3, 4])
        self.assertEqual(self.lines(skips, "tests/cli/a.py"), [])


class Words(unittest.TestCase):
    PAGE = """# Map

| Bell | not ours |
|---|---|

## Words

| word | meaning | where |
|---|---|---|
| call | one request | `src/base/a.h` |

| not in a name | say |
|---|---|
| Bell, Clerk | Notifier |

| not in a comment | say |
|---|---|
| is told, be told | is notified |
| but for | except |
| T1 | C1 |

## After
"""

    def words(self, text, path="src/base/a.h", page=PAGE):
        return findings(check_words, {"src/base/a.h": "", "ARCHITECTURE.md": page, path: text})

    def test_finds_a_refused_word_in_the_name_of_a_type(self):
        names = ["class Bell {", "struct DoorBell : Base {", "enum class BellKind {", "class CALLGATE_CAPABILITY(x) Clerk final {",
                 "enum Clerks2Clerk : int {", "union Bell\n{"]  # fmt: skip
        self.assertEqual(self.words("\n".join(names)), [f"src/base/a.h:{line}" for line in range(1, len(names) + 1)])
        self.assertEqual(self.words("class Bell {", "apps/other/b.cpp"), ["apps/other/b.cpp:1"])

    def test_a_name_is_taken_word_by_word(self):
        self.assertEqual(self.words("class Belly {};\nclass Clerkship {};\nvoid ring(Bell& b);\nclass Other; int bell;"), [])

    def test_finds_a_refused_phrase_in_a_comment(self):
        text = "// A host is told.\nint a;  ///< nobody but\n        ///< for us\n/* will\n * be\n * told */\n// Is told; T1.\n"
        self.assertEqual(
            self.words(text),
            ["src/base/a.h:1", "src/base/a.h:2", "src/base/a.h:5", "src/base/a.h:7", "src/base/a.h:7"],
        )

    def test_every_folder_of_ours_is_read(self):
        for folder in ("apps/a", "bench", "examples", "fuzz", "include/a", "src/base", "tests/e2e"):
            self.assertEqual(self.words("// is told\nclass Bell {", f"{folder}/b.cpp"), [f"{folder}/b.cpp:1", f"{folder}/b.cpp:2"])

    def test_code_literals_and_other_meanings_do_not_count(self):
        text = 'f("is told");\n// can be told apart\n// nothing but\n\n// for us\nint t1 = is + told;  // t1\n// thistold is tolder\n'
        self.assertEqual(self.words(text), [])

    def test_the_message_says_what_to_write_instead(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "src/base").mkdir(parents=True)
            (root / "ARCHITECTURE.md").write_text(self.PAGE)
            (root / "src/base/a.h").write_text("class Bell {};  // all but for one\n")
            said = [sentence for _, _, sentence in check_words.check(root)]
        self.assertEqual(said, ["Bell: not 'Bell' in a name; say Notifier", "not 'but for' in a comment; say except"])

    def test_finds_a_glossary_that_is_not_true(self):
        gone = self.PAGE.replace("`src/base/a.h`", "`src/base/gone.h`")
        self.assertEqual(self.words("", page=gone), ["ARCHITECTURE.md:10"])
        self.assertEqual(self.words("", page=self.PAGE.replace("`src/base/a.h`", "base")), ["ARCHITECTURE.md:10"])
        twice = self.PAGE.replace("| call |", "| run, call | two | `src/base/a.h` |\n| call |")
        self.assertEqual(self.words("", page=twice), ["ARCHITECTURE.md:11"])

    def test_a_page_without_the_tables_is_no_success(self):
        self.assertEqual(self.words("", page="# Map\n"), ["ARCHITECTURE.md:1"] * 3)


class Guards(unittest.TestCase):
    TREE = {
        "src/base/guard.h": "// A guard(x) in a comment.\n#define CALLGATE_GUARDS(guard) \\\n    guard(one) /* it */ \\\n    guard(two)\n",
        "src/ledger/a.cpp": "if (CALLGATE_GUARD(one) && !CALLGATE_GUARD(two)) f();\n",
        "tests/hosts/mutants.cpp": 'constexpr std::string_view kMutants[] = {\n    "one",\n};\n',
        "tests/calls/CMakeLists.txt": "foreach(guard two)\n  add_test(NAME x_${guard} COMMAND x --off ${guard} --expect-violation)\n",
    }

    def guards(self, **changed):
        """`changed` is {last part of a path: (old, new)}."""
        tree = dict(self.TREE)
        for path in tree:
            for part, (old, new) in changed.items():
                if path.split("/")[1] == part:
                    self.assertIn(old, tree[path])
                    tree[path] = tree[path].replace(old, new)
        return findings(check_guards, tree)

    def test_each_is_asked_and_switched_off_by_a_test_that_then_fails(self):
        self.assertEqual(self.guards(), [])

    def test_finds_one_that_no_test_switches_off(self):
        self.assertEqual(self.guards(hosts=('"one"', "")), ["src/base/guard.h:3"])
        self.assertEqual(self.guards(hosts=('"one"', '"two"')), ["src/base/guard.h:3"])
        self.assertEqual(self.guards(calls=("two", "one")), ["src/base/guard.h:4"])

    def test_a_test_that_need_not_fail_does_not_count(self):
        self.assertEqual(self.guards(calls=(" --expect-violation", "")), ["tests/calls/CMakeLists.txt:1", "src/base/guard.h:4"])

    def test_finds_one_that_nothing_asks(self):
        self.assertEqual(self.guards(ledger=("CALLGATE_GUARD(one)", "true")), ["src/base/guard.h:3"])
        self.assertEqual(self.guards(ledger=("CALLGATE_GUARD(two)", "x /* CALLGATE_GUARD(two) */")), ["src/base/guard.h:4"])

    def test_finds_a_name_that_is_no_guard(self):
        self.assertEqual(self.guards(hosts=('"one"', '"one",\n"gone"')), ["tests/hosts/mutants.cpp:3"])

    def test_no_list_is_no_success(self):
        self.assertEqual(self.guards(base=("guard(", "rule(")), ["src/base/guard.h:1"])
        self.assertEqual(self.guards(hosts=("kMutants", "kAll")), ["tests/hosts/mutants.cpp:1", "src/base/guard.h:3"])


class Coro(unittest.TestCase):
    def lines(self, text):
        return [int(found.rsplit(":", 1)[1]) for found in findings(check_coro, {"src/base/a.cpp": text})]

    def one(self, statement, prelude=""):
        return self.lines(f"{prelude}\nTask m() {{\n{statement}\n}}\n")

    def test_finds_an_aggregate_temporary(self):
        self.assertEqual(self.one('co_await f(Options{.a = "q"});'), [3])
        self.assertEqual(self.one('auto r = co_await f(1, ns::Options{"q"});'), [3])
        self.assertEqual(self.one("if (auto r = co_await f(Options{}); r) { g(); }"), [3])
        self.assertEqual(self.one("g(Pair<int>{1, 2}, co_await f());"), [3])
        self.assertEqual(self.one("co_return co_await Wait{3};"), [3])

    def test_finds_an_aggregate_temporary_in_parentheses(self):
        self.assertEqual(self.one('co_await f(Options("q"));', "struct Options { std::string a; ~Options(); };"), [3])
        self.assertEqual(self.one('co_await f(Options("q"));', "struct Options { Options(const char*); };"), [])

    def test_finds_a_braced_list(self):
        self.assertEqual(self.one('co_await f({"a", "b"});'), [3])
        self.assertEqual(self.one('co_await f(x, {"a"});'), [3])

    def test_finds_a_capturing_lambda_called_in_place(self):
        self.assertEqual(self.one("co_await [s = std::string(x)]() -> Task { co_return; }();"), [3])
        self.assertEqual(self.one("co_await [=]() -> awaitable<int, executor> { co_return; }();"), [3])
        self.assertEqual(self.one("co_await ([s] { return g(s); })();"), [3])

    def test_finds_a_capturing_lambda_as_an_argument(self):
        self.assertEqual(self.one("co_await f([s] { g(s); }, 1);"), [3])

    def test_finds_it_inside_a_lambda_body(self):
        self.assertEqual(self.one("spawn([](int x) -> Task {\n  co_await f(Options{x});\n});"), [4])

    def test_what_is_fine_stays_fine(self):
        for statement in [
            'Options o{.a = "q"}; co_await f(std::move(o));',
            'auto t = f(Options{.a = "q"}); co_await std::move(t);',
            'co_await f(Request("x").with(1), std::string("y"));',
            "auto x{co_await f()};",
            "Options o{co_await f(), 1};",
            "std::vector<int> v{co_await f()};",
            "const auto& o{co_await f()};",
            "co_await f([](int x) { return x; });",
            "co_await f([&x, this] { g(x); });",
            "co_await [](std::string s) -> Task { co_return; }(x);",
            "for (auto x : co_await f()) { g(Options{x}); }",
            "if (co_await f()) { g(Options{1}); } else { h({1, 2}); }",
            "auto l = [s] { return Options{s}; }; co_await f(l);",
            "while (true) { co_await f(a[i]); g({1}); }",
            "// co_await f(Options{})",
            'log("co_await f({})"); co_await f();',
        ]:
            with self.subTest(statement):
                self.assertEqual(self.one(statement), [])


if __name__ == "__main__":
    unittest.main()
