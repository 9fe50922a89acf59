#!/usr/bin/env python3
"""The snippets of README.md, docs/guide and the public headers' comments, compiled and run.

    snippets.py cpp FILE                         write all C++ snippets as one program
    snippets.py check --callgate BIN --cpp BIN   run everything, and compare it with what the pages show
                [--update] [PAGE...]             with --update the pages are given what is printed now

C++: a block with main() is a program: compiled, run, and held to the block marked <!-- output -->. Another block is
compiled inside a function that has a `cg::Runtime& runtime`. All of them are one translation unit.
A header's example may use the names in GIVEN. One that uses none of them is run, too, and its outcome `r`, if there is one,
must be a success. One that makes a tool says what the tool risks, and what doing it twice would do.
console: each `$ command` is run in the page's own scratch home, and must end with exit code 0 or what its comment says
(`# exit code 4`). json: parsed; marked as a file it is there for the commands. See pages.py and shown.py.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402
import shown  # noqa: E402

HOME = "/home/olga"  # what the pages show in place of the scratch home
PROGRAM = """
struct Snippet {
    const char* name;
    int (*run)();
};

int main(int count, char** words) {
    static constexpr Snippet kAll[] = {%s};
    for (const Snippet& one : kAll) {
        if (count == 2 && std::string_view(words[1]) == one.name) return one.run();
    }
    std::cerr << "no such snippet\\n";
    return 2;
}
"""


# What a header's example may use without declaring it.
GIVEN = {
    "runtime": "cg::Runtime& runtime",
    "args": "const cg::Args& args",
    "asked": "const cg::Outcome& asked",
    "mailer": "const std::shared_ptr<Mailer>& mailer",
}
PRELUDE = """
namespace asio = boost::asio;
struct Mailer {
    std::string send(const std::string& to) const { return "sent to " + to; }
};
"""


def given(block):
    """The parameters of a header's example."""
    code = re.sub(r"//.*|\"(?:\\.|[^\"])*\"", "", block.text)
    used = (name for name in GIVEN if re.search(rf"\b{name}\b", code))
    return [GIVEN[name] for name in used if not re.search(rf"[\w>&*]\s+{name}\s*[=;({{]", code)]


def header_examples():
    """(name, block) of every example in a header."""
    for header in pages.public_headers():
        for count, block in enumerate(pages.examples(header), 1):
            yield f"header_{pathlib.Path(header).stem}_{count}", block


def has_main(block):
    return re.search(r"^int main\(\)", block.text, re.M) is not None


def cpp_blocks():
    """(name, block) of everything to be compiled."""
    for page in pages.snippet_pages():
        count = 0
        for block in pages.blocks(page):
            if block.language == "cpp" and block.mark != "not run":
                count += 1
                yield f"{pathlib.Path(page).stem}_{count}".replace("-", "_"), block


def write_cpp(path):
    includes, bodies, rows = {"#include <iostream>", "#include <string_view>", "#include <callgate/callgate.h>"}, [], []
    for name, block in cpp_blocks():
        lines = []
        for line in block.lines:
            if line.startswith("#include"):
                includes.add(line)
                lines.append("")
            else:
                lines.append(line)
        where = f'#line {block.line + 1} "{pages.ROOT / block.page}"\n'
        text = "\n".join(lines)
        if has_main(block):
            # main() alone may end without a return.
            text = re.sub(r"^int main\(\)", "int program()", text, flags=re.M)
            text = re.sub(r"\n}\s*\Z", "\nreturn 0; }\n", text)
            rows.append(f'{{"{name}", {name}::program}}')
        else:
            text = re.sub(r"^namespace cg = callgate;$", "", text, flags=re.M)
            text = f"namespace cg = callgate;\n[[maybe_unused]] void fragment([[maybe_unused]] cg::Runtime& runtime) {{\n{where}{text}\n}}"
        bodies.append(f"namespace {name} {{\n{where}{text}\n}}\n")
    if any(True for _ in header_examples()):
        includes |= {"#include <memory>", "#include <string>", "#include <callgate/async.h>", "#include <callgate/mcp.h>"}
        bodies.append(PRELUDE)
    for name, block in header_examples():
        where = f'#line {block.line + 1} "{pages.ROOT / block.page}"\n'
        needs = given(block)
        awaits = "co_await" in block.text
        text = f"{where}{block.text}"
        if needs or awaits:
            kind = "asio::awaitable<void>" if awaits else "void"
            text = f"[[maybe_unused]] {kind} fragment({', '.join(needs)}) {{\n{text}}}"
        else:
            code = "r.ok() ? 0 : 1" if re.search(r"\bcg::Outcome r\b", block.text) else "0"
            text = f"int program() {{\n{text}return {code};\n}}"
            rows.append(f'{{"{name}", {name}::program}}')
        bodies.append(f"namespace {name} {{\nnamespace cg = callgate;\n{text}\n}}\n")
    made = "// Written by tools/docs/snippets.py.\n" + "\n".join(sorted(includes)) + "\n\n" + "\n".join(bodies) + PROGRAM % ", ".join(rows)
    target = pathlib.Path(path)
    if not target.exists() or target.read_text(encoding="utf-8") != made:
        target.write_text(made, encoding="utf-8")


class Page:
    """One page's snippets, run in order in a scratch home."""

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.names = shown.Names()
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="callgate-docs-"))
        self.replaced = {}  # line of a fence → new lines
        self.passed = self.failed = 0
        self.not_run = []
        self.printed = []
        self.env = {
            "HOME": str(self.home), "PATH": f"{pathlib.Path(options.callgate).resolve().parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC", "COLUMNS": "80",
        }
        for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if variable in os.environ:
                self.env[variable] = os.environ[variable]

    def run(self):
        try:
            programs = {block.line: name for name, block in cpp_blocks() if block.page == self.name}
            last = None
            for block in pages.blocks(self.name):
                fault = self.one(block, programs, last)
                if fault is not None:
                    self.failed += 1
                    print(f"{block.where}: {fault}")
                last = block
            if self.replaced:
                self.rewrite()
        finally:
            shutil.rmtree(self.home, ignore_errors=True)

    def one(self, block, programs, last):
        if block.mark == "not run":
            self.not_run.append((block.where, block.argument))
            return None
        if block.mark == "newcomer" and block.language != "cpp":
            return None
        if block.mark == "file":
            path = self.home / block.argument
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        fault = None
        if block.mark == "output":
            if last is None or last.language != "cpp":
                return "an output stands right after its program"
            fault = self.output(block)
        elif block.language == "cpp":
            self.printed = self.program(programs[block.line]) if has_main(block) else []
            if isinstance(self.printed, str):
                fault = self.printed
        elif block.language == "console":
            fault = self.console(block)
        elif block.language == "json":
            try:
                json.loads(block.text)
            except ValueError as error:
                fault = f"not JSON: {error}"
        else:
            return None
        if fault is None:
            self.passed += 1
        return fault

    def program(self, name):
        ran = subprocess.run([str(pathlib.Path(self.options.cpp).resolve()), name], cwd=self.home, env=self.env, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        if ran.returncode != 0:
            return f"the program ended with exit code {ran.returncode}: {ran.stdout}{ran.stderr}"
        return self.tidy(ran.stdout)

    def tidy(self, text):
        return [line.rstrip() for line in text.replace(str(self.home), HOME).splitlines()]

    def output(self, block):
        if isinstance(self.printed, str):
            return "the program above failed"
        difference = shown.Names().match(block.lines, self.printed)
        if difference is None:
            return None
        if self.options.update:
            self.replaced[block.line] = self.printed
            return None
        return "shown: {!r}\n    printed: {!r}".format(*difference)

    def console(self, block):
        made, fault = [], None
        steps = []
        for line in block.lines:
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps and (steps[-1][0].endswith("\\")) and not steps[-1][1]:
                steps[-1] = (steps[-1][0] + "\n" + line, [])
            elif steps:
                steps[-1][1].append(line)
            else:
                return "a console block begins with `$ command`"
        for command, expected in steps:
            command, printed, code = self.command(command)
            wanted = re.search(r"#.*\bexit code (\d+)", command)
            before = dict(self.names.real)
            difference = self.names.match(expected, printed)
            if code != int(wanted[1] if wanted else 0):
                fault = fault or f"exit code {code}: {command}\n    " + "\n    ".join(printed[-5:])
            if difference is not None:
                self.names.real = before
                if self.options.update:
                    expected = [self.names.page_line(line) for line in printed]
                    self.names.match(expected, printed)
                else:
                    fault = fault or "`{}`\n    shown:   {}\n    printed: {}".format(command, *difference)
            made += ["$ " + part if index == 0 else part for index, part in enumerate(command.split("\n"))] + expected
        if self.options.update and made != block.lines:
            self.replaced[block.line] = made
        return fault

    def command(self, text):
        """Runs a command. ID(word) and DIGEST stand, while a page is written, for what was printed last."""
        uuid = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

        def last(word, pattern):
            lines = [line for line in self.log if re.search(rf"\b{word}\b", line) and re.search(pattern, line)]
            if not lines:
                raise SystemExit(f"{self.name}: nothing printed so far has a '{word}'")
            return re.search(pattern, lines[-1])[0]
        text = re.sub(r"ID\((\w+)\)", lambda found: self.names.page_name(last(found[1], uuid)), text)
        text = re.sub(r"\bDIGEST\b", lambda _: self.names.page_name(last("digest", r"[0-9a-f]{64}")), text)
        script = (f'set -a; [[ -f "$HOME/.exported" ]] && . "$HOME/.exported"; set +a\n{self.names.translate(text)}\n'
                  'code=$?; export -p | grep -v " \\(HOME\\|PATH\\|PWD\\|OLDPWD\\|SHLVL\\)=" > "$HOME/.exported"; exit $code')
        ran = subprocess.run(["bash", "-c", script], cwd=self.home, env=self.env, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        printed = self.tidy(ran.stdout)
        self.log = self.log + printed
        return text, printed, ran.returncode

    log = []

    def rewrite(self):
        path = pages.ROOT / self.name
        lines = path.read_text(encoding="utf-8").splitlines()
        for fence in sorted(self.replaced, reverse=True):
            end = fence
            while not lines[end].startswith("```"):
                end += 1
            lines[fence:end] = self.replaced[fence]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fault_of_example(name, block, program):
    makes_a_tool = re.search(r"\bcg::(async_)?tool\(", block.text)
    if makes_a_tool and not re.search(r"\.risk\(.*\.(effect|read_only)\(", block.text, re.S):
        return "a tool of an example says .risk(…) and .effect(…) or .read_only()"
    if given(block) or "co_await" in block.text:
        return None
    ran = subprocess.run([str(pathlib.Path(program).resolve()), name], text=True, stdin=subprocess.DEVNULL, capture_output=True,
                         timeout=60)
    return f"it ended with exit code {ran.returncode}: {ran.stdout}{ran.stderr}" if ran.returncode else None


def check(options):
    passed = failed = 0
    not_run = []
    for name, block in () if options.pages else header_examples():
        fault = fault_of_example(name, block, options.cpp)
        passed, failed = passed + (fault is None), failed + (fault is not None)
        if fault is not None:
            print(f"{block.where}: {fault}")
    for name in options.pages or pages.snippet_pages():
        page = Page(name, options)
        page.run()
        passed, failed = passed + page.passed, failed + page.failed
        not_run += page.not_run
    for where, reason in not_run:
        print(f"not run: {where}: {reason}")
    print(f"snippets={passed}/{passed + failed} not_run={len(not_run)}")
    return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("cpp").add_argument("file")
    checking = verbs.add_parser("check")
    checking.add_argument("--callgate", required=True)
    checking.add_argument("--cpp", required=True)
    checking.add_argument("--update", action="store_true")
    checking.add_argument("pages", nargs="*")
    options = parser.parse_args()
    if options.verb == "cpp":
        write_cpp(options.file)
        return 0
    return check(options)


if __name__ == "__main__":
    sys.exit(main())
