#!/usr/bin/env python3
"""run.py WALK [--write | --optimised]: the table in ARCHITECTURE.md of the files that one call passes, against the real calls.

WALK (walk.cpp) says which functions three kinds of call enter; addr2line says in which files they are. Each kind is
walked several times. The table must have every file that all walks of a kind pass and none that no walk passes, with the
stages in the order of pipeline.h. In an optimised build functions are compiled into their callers, and a file may have none
that is entered: with --optimised, the lines of such files are looked for, wherever they are. `make walk` builds without
optimisation. --write makes the table again; what a file does is the first sentence of its header.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- walk -->", "<!-- /walk -->"
KINDS = {"read": "read, in memory", "unsafe": "unsafe, durable", "approval": "approval and resume, durable"}
FOLDERS = ("tool", "policy", "ledger", "pipeline")
HEAD = ["| file | what | " + " | ".join(KINDS.values()) + " |", "|---|---|" + "---|" * len(KINDS)]
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) \|" + r" ([^|]*) \|" * len(KINDS) + "$")


def fail(text):
    raise SystemExit(f"walk: {text}")


def ours(place):
    """The file of the four folders that a path is of, as the table has it; None for any other."""
    parts = pathlib.Path(place).parts
    if "src" not in parts or not place.endswith(".cpp"):
        return None
    inner = parts[len(parts) - parts[::-1].index("src"):]
    return "/".join(inner) if inner[0] in FOLDERS else None


def run_walk(program, *arguments):
    """[(kind, its words)], one for each walk."""
    ran = subprocess.run([program, *arguments], text=True, capture_output=True)
    if ran.returncode == 77:
        print(ran.stdout.strip())
        sys.exit(77)
    if ran.returncode != 0:
        fail(f"{program} ended with exit code {ran.returncode}: {ran.stdout[-300:]}{ran.stderr}")
    return [(line.split()[0], line.split()[2:]) for line in ran.stdout.splitlines()]


def walks(program):
    """kind → a list of walks, each a list of (file, on the caller's thread): of the functions that were entered."""
    lines = run_walk(program)
    addresses = sorted({word.split(":")[1] for _, words in lines for word in words})
    told = subprocess.run(["addr2line", "-e", program], input="\n".join(addresses), text=True, capture_output=True,
                          check=True).stdout.splitlines()
    files = {address: ours(place.rsplit(":", 1)[0]) for address, place in zip(addresses, told)}
    files = {address: file for address, file in files.items() if file is not None}
    if not files:
        fail(f"addr2line knows no source file of {program}; it must be built with -g")
    found = {kind: [] for kind in KINDS}
    for kind, words in lines:
        seen = {}
        for word in words:
            thread, address = word.split(":")
            if address in files:
                seen.setdefault(files[address], thread == "0")
        found[kind].append(list(seen.items()))
    return found


def addresses_of(program, wanted):
    """file → the addresses of its lines, wherever they were compiled into: what the program's line table says."""
    table = subprocess.run(["objdump", "--dwarf=decodedline", program], text=True, capture_output=True, check=True).stdout
    found = {file: set() for file in wanted}
    file = None
    for line in table.splitlines():
        if line.endswith(":") or line.endswith(":[++]"):
            file = ours(line.rsplit(":", 1)[0])
        elif file in found and (row := re.match(r"\S+ +\d+ +0x([0-9a-f]+)", line)):
            found[file].add(row[1])
    return found


def passed_by_line(program, wanted):
    """kind → the files of `wanted` of which such calls run a line, be it compiled into a function of another file."""
    lines = addresses_of(program, wanted)
    files = {}
    for file, addresses in lines.items():
        for address in addresses:
            files.setdefault(address, set()).add(file)
    with tempfile.NamedTemporaryFile("w", suffix=".addresses") as listed:
        listed.write("".join(f"{address}\n" for address in files))
        listed.flush()
        passed = {kind: set() for kind in KINDS}
        for kind, words in run_walk(program, listed.name):
            passed[kind].update(*(files[word.split(":")[1]] for word in words))
    return passed


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
    entered = {kind: set.union(*(set(dict(walk)) for walk in walked)) for kind, walked in found.items()}
    inlined = {kind: set(shown[kind]) - entered[kind] for kind in KINDS} if optimised else {}
    if any(inlined.values()):
        by_line = passed_by_line(sys.argv[1], set.union(*inlined.values()))
        entered = {kind: entered[kind] | by_line[kind] for kind in KINDS}
    for kind, walked in found.items():
        sets = [set(dict(walk)) for walk in walked]
        for file in sorted(set.intersection(*sets) - set(shown[kind])):
            faults.append(f"a call ({KINDS[kind]}) passes {file}, and the table does not say so")
        for file in sorted(set(shown[kind]) - entered[kind]):
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
