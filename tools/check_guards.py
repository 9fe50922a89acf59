#!/usr/bin/env python3
"""Guards: each rule named in src/base/guard.h carries a promise, and a test is known to fail without it.

- A guard is asked somewhere in src/ (CALLGATE_GUARD(name)).
- It is in a list of those that are switched off one by one, and must then be missed: kMutants in
  tests/hosts/mutants.cpp (make hosts), or the ones of call_scripts in tests/calls/CMakeLists.txt (make test).
- Those lists name no guard that is not there.
Usage: check_guards.py [ROOT]
"""

import re

import source_text

HEADER = "src/base/guard.h"
# file → the list, its names in the first group
LISTS = {
    "tests/hosts/mutants.cpp": re.compile(r"\bkMutants\[\] = \{(.*?)\};", re.DOTALL),
    "tests/calls/CMakeLists.txt": re.compile(r"\bforeach\(guard\s(.*?)\)\s*add_test\([^)]*--expect-violation", re.DOTALL),
}


def guards(text):
    """[(line, name)] of the list in guard.h."""
    whole = re.search(r"#define CALLGATE_GUARDS\(guard\)((?:.*\\\n)*.*)", text)
    if whole is None:
        return []
    return [
        (source_text.line_of(text, whole.start(1) + match.start()), match.group(1))
        for match in re.finditer(r"\bguard\((\w+)\)", whole.group(1))
    ]


def asked(root):
    """The names that the product asks."""
    names = set()
    for file in source_text.files(root):
        if file.parts[0] == "src" and file.as_posix() != HEADER and not file.stem.endswith("_test"):
            names |= set(re.findall(r"\bCALLGATE_GUARD\((\w+)\)", source_text.code_only((root / file).read_text())))
    return names


def check(root):
    header = root / HEADER
    known = guards(header.read_text()) if header.exists() else []
    if not known:
        yield HEADER, 1, "this has no list CALLGATE_GUARDS(guard) of guard(name)"
        return
    names = {name for _, name in known}
    switched_off = set()
    for file, pattern in LISTS.items():
        path = root / file
        text = path.read_text() if path.exists() else ""
        found = pattern.search(text)
        if found is None:
            yield file, 1, "this has no list of guards that are switched off one by one; tell check_guards.py where it is"
            continue
        for match in re.finditer(r"\w+", found.group(1)):
            switched_off.add(match.group())
            if match.group() not in names:
                yield file, source_text.line_of(text, found.start(1) + match.start()), f"{HEADER} has no guard {match.group()}"
    used = asked(root)
    for line, name in known:
        if name not in used:
            yield HEADER, line, f"nothing in src/ asks CALLGATE_GUARD({name})"
        if name not in switched_off:
            yield HEADER, line, f"no test is known to fail without {name}: add it to kMutants of tests/hosts, with an episode that misses it"


if __name__ == "__main__":
    source_text.main(check, "guards")
