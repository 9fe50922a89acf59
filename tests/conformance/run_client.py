#!/usr/bin/env python3
"""run_client.py CLIENT [--repeat N] [--skipped CODE]: CLIENT (conformance-client) scored by the official conformance suite of
MCP, in the scenarios of either requirement set that need no authorization (`auth/…` is not in the client yet).

The suite plays the server, and starts the client once for each scenario. Nothing is expected to fail. A check that does is named
with its scenario; the RESULT line has the worst of the runs. Exit code 0 if all scored ones passed, else 1; CODE where the
suite cannot be had (see run.py).
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

from run import INSTALLED, SETS, Failed, Skipped, Tally, install, judge, say

SCENARIO_TIME = 60


def scenarios_of(suite, requirements):
    """The scenarios for clients without authorization: (scored, unscored)."""
    listed = subprocess.run([*suite, "list", "--requirements", requirements], text=True, capture_output=True, check=True).stdout
    scored = re.search(r"^Client scenarios.*:\n((?:  - .*\n)+)", listed, re.M)
    if not scored:
        raise Failed(f"the suite does not say what it scores for {requirements}")
    every = (re.findall(r"- (\S+)", scored[1]), re.findall(r"^ +- (\S+) \[client\]", listed, re.M))
    return tuple([name for name in names if not name.startswith("auth/")] for names in every)


def run_scenario(suite, requirements, scenario, client, results):
    """Its checks; None: it left none."""
    with open(results / f"{scenario}.txt", "w", encoding="utf-8") as output:
        subprocess.run([*suite, "client", "--command", str(client), "--scenario", scenario, "--spec-version", requirements, "-o",
                        str(results)], stdout=output, stderr=subprocess.STDOUT, timeout=SCENARIO_TIME, check=False)
    for file in results.glob(f"{scenario}-*/checks.json"):
        return json.loads(file.read_text(encoding="utf-8"))
    return None


def run_once(suite, client, sets, tallies, run):
    for requirements, (scored, others) in sets.items():
        begun = time.monotonic()
        results = INSTALLED / "results-client" / requirements
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        verdicts = {}
        for name in (*scored, *others):
            try:
                verdicts[name] = judge(name, run_scenario(suite, requirements, name, client, results), say)
            except subprocess.TimeoutExpired:
                say(name, "-", "FAILURE", f"it did not end within {SCENARIO_TIME} s")
                verdicts[name] = False
        tallies[requirements].add([verdicts[name] is True for name in scored])
        tallies["unscored"].add([verdicts[name] for name in others])
        print(f"{run}, {requirements}: scored {sum(verdicts[name] is True for name in scored)}/{len(scored)}, "
              f"{time.monotonic() - begun:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--skipped", type=int, default=1 if os.environ.get("CALLGATE_NO_SKIPS") else 0)
    arguments = parser.parse_args()
    try:
        suite = install()
    except Skipped as why:
        print(f"skipped: {why}")
        return arguments.skipped
    tallies = {name: Tally() for name in (*SETS, "unscored")}
    try:
        sets = {requirements: scenarios_of(suite, requirements) for requirements in SETS}
        for run in range(1, arguments.repeat + 1):
            run_once(suite, arguments.client.resolve(), sets, tallies, f"run {run}/{arguments.repeat}")
    except (Failed, subprocess.SubprocessError) as what:
        print(f"  {what}")
        return 1
    print(f"RESULT client_2025_11_25={tallies[SETS[0]]} client_2026_07_28={tallies[SETS[1]]} unscored={tallies['unscored']} "
          f"without=auth runs={arguments.repeat}")
    return 0 if all(tallies[requirements].whole() for requirements in SETS) else 1


if __name__ == "__main__":
    sys.exit(main())
