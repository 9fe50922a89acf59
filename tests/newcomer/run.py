#!/usr/bin/env python3
"""run.py [--build DIR]: somebody who has only the guides. On a clone: build and install as they say, build a project with
find_package and with pkg-config, run the guide's own programs and compare what they print, every verb at 80 columns
(tests/cli/terminal_walk.py).

The steps are the blocks of docs/guide that are marked <!-- newcomer: WORD -->. --build DIR takes a finished build of the
preset `release` instead of building one. The last line is `RESULT steps=N/N lines_over_80=N`.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tools/docs")]
import pages  # noqa: E402
import shown  # noqa: E402
import terminal_walk  # noqa: E402

PROGRAMS = ("typed", "async", "durable", "policy")
# What is said to the guide's MCP server, and what it says to that.
PING, PONG = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}', '{"jsonrpc":"2.0","id":1,"result":{}}'


class Newcomer:
    def __init__(self, scratch):
        self.scratch = pathlib.Path(scratch)
        self.clone = self.scratch / "callgate"
        self.prefix = self.scratch / "prefix"
        self.steps = self.passed = 0
        self.env = {**os.environ, "PREFIX": str(self.prefix), "HOME": str(self.scratch / "home")}
        (self.scratch / "home").mkdir()
        self.blocks, self.prints = {}, {}
        for page in ("docs/guide/operators.md", "docs/guide/cpp.md", "docs/guide/mcp.md"):
            last = None
            for block in pages.blocks(page):
                if block.mark == "newcomer":
                    self.blocks[block.argument] = block
                elif block.mark == "output" and last is not None and last.mark == "newcomer":
                    self.prints[last.argument] = block.lines
                last = block

    def step(self, name, command, cwd, shows=None):
        self.steps += 1
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=cwd, env=self.env, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        difference = shown.Names().match(shows, ran.stdout.splitlines()) if shows is not None else None
        if ran.returncode == 0 and difference is None:
            self.passed += 1
            print(f"ok: {name}", flush=True)
            return True
        print(f"FAILED: {name}: exit code {ran.returncode}, {difference or ''}\n{ran.stdout[-3000:]}", flush=True)
        return False

    def text(self, word):
        if word not in self.blocks:
            raise SystemExit(f"newcomer: no block of the guides is marked <!-- newcomer: {word} -->")
        return self.blocks[word].text

    def run(self, finished):
        self.step("clone", f"git clone -q '{ROOT}' '{self.clone}'", self.scratch)
        # The guide's settings decide where packages are; the compiler's cache may stay the user's own.
        self.env.setdefault("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))
        if finished:
            self.step("install", f"tools/install.sh install '{finished}' '{self.prefix}'", self.clone)
        else:
            self.step("make run", self.text("build"), self.clone)
            self.step("install", self.text("install"), self.clone)
        program = self.prefix / "bin/callgate"
        self.projects()
        with tempfile.TemporaryDirectory(prefix="callgate-verbs-") as home:
            walk = terminal_walk.walk(program, home)
        for fault in walk.failed + walk.too_wide:
            print(f"FAILED: at a terminal: {fault}", flush=True)
        self.steps += walk.steps
        self.passed += walk.passed
        self.texts()
        self.mcp()
        self.step("uninstall", "make -s uninstall PREFIX=\"$PREFIX\" && [[ ! -e $PREFIX/bin/callgate ]]", self.clone)
        return len(walk.too_wide)

    def texts(self):
        """What else was installed: completion where bash looks for it, and pages that man finds."""
        share = self.prefix / "share"
        self.step("completion", "source share/bash-completion/completions/callgate; COMP_WORDS=(bin/callgate calls res); "
                  "COMP_CWORD=2; _callgate bin/callgate; [[ ${COMPREPLY[*]} == resolve ]]", self.prefix)
        self.step("man page", f"grep -q 'callgate calls resolve' '{share}/man/man1/callgate-calls.1'", self.scratch)

    def mcp(self):
        """The first thing that the page on MCP shows: lines to the installed program."""
        shows = next(block.lines for block in pages.blocks("docs/guide/mcp.md") if block.language == "console")
        self.step("mcp serve", f"PATH={self.prefix}/bin:$PATH; {shows[0].removeprefix('$ ')}", self.scratch, shows[1:])

    def projects(self):
        found = [str(path.parent) for path in self.prefix.rglob("pkgconfig/callgate.pc")]
        self.env["PKG_CONFIG_PATH"] = ":".join(found)
        for word in PROGRAMS:
            folder = self.scratch / word
            folder.mkdir()
            (folder / "hello.cpp").write_text(self.text(word), encoding="utf-8")
            if word == "typed":
                (folder / "CMakeLists.txt").write_text(self.text("cmake"), encoding="utf-8")
                self.step("find_package", f"cmake -S . -B build -DCMAKE_PREFIX_PATH='{self.prefix}' && cmake --build build", folder)
                self.step("find_package: run", "build/hello", folder, self.prints[word])
            self.step(f"pkg-config: {word}", self.text("pkg-config"), folder)
            self.step(f"pkg-config: {word}: run", "./hello", folder, self.prints[word])
        self.mcp_project()

    def mcp_project(self):
        folder = self.scratch / "mcp"
        folder.mkdir()
        (folder / "hello.cpp").write_text(self.text("mcp"), encoding="utf-8")
        (folder / "CMakeLists.txt").write_text(self.text("mcp-cmake"), encoding="utf-8")
        self.step("find_package: mcp", f"cmake -S . -B build -DCMAKE_PREFIX_PATH='{self.prefix}' && cmake --build build", folder)
        self.step("pkg-config: mcp", self.text("mcp-pkg-config"), folder)
        for program in ("build/hello", "./hello"):
            self.step(f"mcp: run {program}", f"echo '{PING}' | {program}", folder, [PONG])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="callgate-newcomer-") as scratch:
        newcomer = Newcomer(scratch)
        over = newcomer.run(options.build and os.path.abspath(options.build))
    print(f"RESULT steps={newcomer.passed}/{newcomer.steps} lines_over_80={over}")
    return 0 if newcomer.passed == newcomer.steps and over == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
