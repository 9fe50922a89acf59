#!/usr/bin/env python3
"""run.py WALK [--write | --optimised]: the table in ARCHITECTURE.md of the files that one call passes, against the real calls.

WALK (walk.cpp) says which functions three kinds of call enter; addr2line says in which files they are. Each kind is
walked several times. The table must have every file that all walks of a kind pass and none that no walk passes, with the
stages in the order of pipeline.h. In an optimised build functions are compiled into their callers, and a file may not be
seen for that: with --optimised only what is seen counts. `make walk` builds without optimisation, and looks at both.
--write makes the table anew; what a file does is the first sentence of its header.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- walk -->", "<!-- /walk -->"
KINDS = {"read": "read, in memory", "unsafe": "unsafe, durable", "approval": "approval and resume, durable"}
FOLDERS = ("tool", "policy", "ledger", "pipeline")
HEAD = ["| file | what | " + " | ".join(KINDS.values()) + " |", "|---|---|" + "---|" * len(KINDS)]
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) \|" + r" ([^|]*) \|" * len(KINDS) + "$")


def fail(text):
    raise SystemExit(f"walk: {text}")


def walks(program):
    """kind → a list of walks, each a list of (file, on the caller's thread)."""
    ran = subprocess.run([program], text=True, capture_output=True)
    if ran.returncode != 0:
        fail(f"{program} ended with exit code {ran.returncode}: {ran.stdout[-300:]}{ran.stderr}")
    if ran.stdout.startswith("SKIP"):
        print(ran.stdout.strip())
        sys.exit(0)
    lines = [line.split() for line in ran.stdout.splitlines()]
    addresses = sorted({word.split(":")[1] for line in lines for word in line[2:]})
    told = subprocess.run(["addr2line", "-e", program], input="\n".join(addresses), text=True, capture_output=True,
                          check=True).stdout.splitlines()
    files = {}
    for address, place in zip(addresses, told):
        path = pathlib.Path(place.rsplit(":", 1)[0])
        parts = path.parts
        if "src" in parts and path.suffix == ".cpp":
            inner = parts[len(parts) - parts[::-1].index("src"):]
            if inner[0] in FOLDERS:
                files[address] = "/".join(inner)
    if not files:
        fail(f"addr2line knows no source file of {program}; it must be built with -g")
    found = {kind: [] for kind in KINDS}
    for kind, _, *words in lines:
        seen = {}
        for word in words:
            thread, address = word.split(":")
            if address in files:
                seen.setdefault(files[address], thread == "0")
        found[kind].append(list(seen.items()))
    return found


def stages():
    text = (ROOT / "src/pipeline/pipeline.h").read_text(encoding="utf-8")
    return [f"pipeline/{name}.cpp" for name in re.findall(r'^\s*\{"(\w+)", \w+\},', text, re.M)]


def in_order(kind, passed):
    """The stages as such a call passes them. One that needs approval first ends at the gate, in settle."""
    order = stages()
    if kind == "approval":
        gate = next(index for index, file in enumerate(order) if file.endswith("/gate.cpp")) + 1
        order = order[:gate] + order[-1:] + order[gate:-1]
    return [file for file in order if file in passed]


def sentence(file):
    """The first sentence of a file's header, or of the file itself."""
    path = ROOT / "src" / file
    for one in (path.with_suffix(".h"), path):
        if not one.is_file():
            continue
        lines = []
        for line in one.read_text(encoding="utf-8").splitlines():
            if not line.startswith("//") or line.strip() == "//":
                break
            lines.append(line[2:].strip())
        if lines:
            text = re.split(r"(?<=[.])\s", " ".join(lines) + " ", maxsplit=1)[0].rstrip(". ")
            return text.replace("|", "/")
    own = re.findall(r'^#include [<"]((?:%s)/\w+\.h)[>"]' % "|".join(("callgate", *FOLDERS)), path.read_text(encoding="utf-8"), re.M)
    return f"declared in `{own[0]}`" if own else ""


def table_of(found):
    order = {}
    for kind in ("unsafe", "approval", "read"):
        for walk in found[kind]:
            for file, _ in walk:
                order.setdefault(file, len(order))
    always = {kind: set.intersection(*(set(dict(walk)) for walk in found[kind])) for kind in KINDS}
    rows = []
    # The folders from the top down, as the call sees them; in each the order of first entry.
    ranked = sorted(order, key=lambda file: (-FOLDERS.index(file.split("/")[0]), order[file]))
    for file in ranked:
        cells = [("yes" if file in always[kind] else "") for kind in KINDS]
        if any(cells):
            rows.append(f"| `{file}` | {sentence(file)} | " + " | ".join(cells) + " |")
    return rows


def main():
    found = walks(sys.argv[1])
    optimised = "--optimised" in sys.argv[2:]
    text = PAGE.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        fail(f"ARCHITECTURE.md needs the marks {BEGIN} and {END}, once each")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    if "--write" in sys.argv[2:]:
        PAGE.write_text(before + BEGIN + "\n" + "\n".join(HEAD + table_of(found)) + "\n" + END + after, encoding="utf-8")
        return 0
    shown = {kind: [] for kind in KINDS}
    for line in table.strip().splitlines():
        if line in HEAD:
            continue
        row = ROW.match(line)
        if not row:
            fail(f"this is no row of the table: {line}")
        for kind, cell in zip(KINDS, row.groups()[2:]):
            if cell.strip() == "yes":
                shown[kind].append(row[1])
    faults = []
    for kind, walked in found.items():
        sets = [set(dict(walk)) for walk in walked]
        for file in sorted(set.intersection(*sets) - set(shown[kind])):
            faults.append(f"a call ({KINDS[kind]}) passes {file}, and the table does not say so")
        for file in sorted(set() if optimised else set(shown[kind]) - set.union(*sets)):
            faults.append(f"the table says that a call ({KINDS[kind]}) passes {file}, and it does not")
        for walk in walked:
            passed = [file for file, _ in walk if file in stages()]
            if passed != in_order(kind, passed):
                faults.append(f"the stages of a call ({KINDS[kind]}) come in another order: {passed}")
    for fault in faults:
        print(f"walk: {fault}")
    if faults:
        print("walk: `make walk WRITE=1` writes the table anew")
    print("RESULT " + " ".join(f"{kind}={len(shown[kind])}" for kind in KINDS) + f" faults={len(faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
