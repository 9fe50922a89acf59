#!/usr/bin/env python3
"""run.py SWEEP [option...]: the sweep over every failpoint that the sources name.

The list is made from the sources, so that a new failpoint is swept without anybody's doing, and one that the
workload does not pass fails the run. Further options go to the sweep (sweep.cpp).
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = re.compile(r'CALLGATE_FAILPOINT(?:_RETURN|_ACTION)?\(\s*"([a-z_.]+)"\s*\)')
AT_LEAST = 40


def names_in(source):
    """The failpoints of one file, without those that its comments talk of."""
    code = re.sub(r"//.*", "", source.read_text(encoding="utf-8"))
    return PLACE.findall(code)


def main():
    places = {}
    for source in sorted((ROOT / "src").rglob("*")):
        if source.suffix not in (".h", ".cpp") or source.name.endswith("_test.cpp"):
            continue
        for name in names_in(source):
            places.setdefault(name, []).append(str(source.relative_to(ROOT)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    if twice:
        sys.exit(f"these failpoints are in two places, so that neither can be told from the other: {twice}")
    if len(places) < AT_LEAST:
        sys.exit(f"the sources name only {len(places)} failpoints: {sorted(places)}")
    sweep = subprocess.run(sys.argv[1:], input="\n".join(sorted(places)) + "\n", text=True, check=False)
    sys.exit(sweep.returncode)


if __name__ == "__main__":
    os.environ.pop("CALLGATE_FAILPOINT", None)
    main()
