#!/usr/bin/env python3
"""times.py [--here]: what `make run` and `make test` cost in CPU seconds.

Clones the repository as it is committed, runs both there from nothing and without ccache, and prints CPU seconds by
lane, by target and for the slowest files. --here reads the logs of the builds that are in this tree instead, which says
nothing about a cold build.

CPU seconds of a lane are what the kernel counted for its processes. Targets and files are from ninja's own log, which
has times on the wall: they are scaled so that they add up to their lane.
"""
import argparse
import collections
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# `make test` and `make run` of the library alone; the parts to come must fit in 3,200 and 600.
TEST_BAR, RUN_BAR = 2000, 400


def ninja_times(build):
    """Seconds on the wall for each output of the last build of it."""
    times = {}
    log = build / ".ninja_log"
    if not log.exists():
        return times
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        times[output] = (int(end) - int(start)) / 1000
    return times


def target_of(output):
    """The target that an output belongs to, as a person would name it."""
    match = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    if match:
        return match.group(1)
    return Path(output).name + " (link)" if output.startswith(("bin/", "lib")) else "other"


def source_of(output):
    """The source that an object was compiled from; None for everything else."""
    match = re.search(r"(?:(.*)/)?CMakeFiles/[^/]+\.dir/(.+)\.o$", output)
    if not match:
        return None
    return f"{match.group(1)}/{match.group(2)}" if match.group(1) else match.group(2)


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, where, log):
    """CPU seconds and seconds on the wall of a command; its output goes to `log`."""
    environment = dict(os.environ, CCACHE_DISABLE="1")
    cpu, wall = cpu_of_children(), time.monotonic()
    with open(log, "wb") as out:
        status = subprocess.run(command, cwd=where, env=environment, stdout=out, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL).returncode
    used = cpu_of_children() - cpu, time.monotonic() - wall
    if status:
        sys.stderr.write("".join(open(log, errors="replace").readlines()[-40:]))
        sys.exit(f"times: '{' '.join(command)}' failed; its output is in {log}")
    return used


def fresh_clone(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clone = folder / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    beside = ROOT.parent / "shared"
    if beside.exists():
        (folder / "shared").symlink_to(beside)
    return clone


def lanes_of(tree):
    table = tree / "build" / "times.tsv"
    if not table.exists():
        return []
    return [(name, int(cpu), int(wall)) for name, cpu, wall in
            (line.split("\t") for line in table.read_text().splitlines())]


def show_builds(tree, lanes):
    """Tables of targets and files; the slowest file."""
    cpu_of_lane = {name.split(":")[0]: cpu for name, cpu, _ in lanes if name.endswith(": build")}
    slowest = ("none", 0.0)
    for build in sorted((tree / "build").glob("*")):
        times = ninja_times(build)
        if not times:
            continue
        whole = sum(times.values())
        scale = cpu_of_lane.get(build.name, whole) / whole if whole else 1
        targets = collections.Counter()
        files = collections.Counter()
        for output, seconds in times.items():
            targets[target_of(output)] += seconds * scale
            source = source_of(output)
            if source:
                files[source] += seconds * scale
        print(f"\n{build.name}: {len(times):,} steps, {whole * scale:,.0f} CPU s")
        for name, seconds in targets.most_common(12):
            print(f"  {seconds:8.1f} s  {name}")
        print(f"{build.name}: the ten slowest files")
        for name, seconds in files.most_common(10):
            print(f"  {seconds:8.1f} s  {name}")
            if seconds > slowest[1]:
                slowest = (name, seconds)
    return slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--here", action="store_true", help="read the logs of this tree's builds")
    options = parser.parse_args()
    tree, run_cpu = ROOT, None
    if not options.here:
        folder = ROOT / "build" / "times"
        tree = fresh_clone(folder)
        print(f"times: make run, then make test, in {tree.relative_to(ROOT)}, without ccache", flush=True)
        run_cpu, _ = run(["make", "run"], tree, folder / "run.log")
        print(f"  {run_cpu:8.1f} CPU s  make run", flush=True)
        run(["make", "test"], tree, folder / "test.log")
    lanes = lanes_of(tree)
    print("\nlanes of make test")
    for name, cpu, wall in lanes:
        print(f"  {cpu:6d} CPU s  {wall:6d} s  {name}")
    name, seconds = show_builds(tree, lanes)
    test_cpu, test_wall = sum(lane[1] for lane in lanes), sum(lane[2] for lane in lanes)
    shown_run = "not_measured" if run_cpu is None else f"{run_cpu:.0f}"
    print(f"\nRESULT test_cpu_s={test_cpu} run_cpu_s={shown_run} test_wall_s={test_wall} "
          f"slowest={name}:{seconds:.1f}s test_bar_s={TEST_BAR} run_bar_s={RUN_BAR}")
    return 1 if test_cpu > TEST_BAR or (run_cpu or 0) > RUN_BAR else 0


if __name__ == "__main__":
    sys.exit(main())
