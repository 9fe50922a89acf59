#!/usr/bin/env python3
"""Include direction: a folder of src/ may include only itself and the folders above it in FOLDERS.

Also:
- sub-folders of a folder have an order too (SUBFOLDERS), and a folder may name the headers that the folders below
  it in the order may see (FACES);
- a class that a folder may not include, it may not declare either: a forward declaration is the same border;
- include/callgate includes nothing of src/; nothing of src/ or include/ reaches into apps/, and nobody does by a
  relative path;
- Beast is seen only by src/net; Asio reaches public headers only in async.h;
- public headers of MCP (include/callgate/mcp*.h) are for its library and its users, not for the core;
- CMakeLists.txt builds every folder that has sources, in this order, those from FIRST_OF_MCP on into MCP's library.
Usage: check_includes.py [ROOT]
"""

import re
from pathlib import PurePosixPath

import source_text

FOLDERS = [
    "base", "os", "json", "redact", "wire", "schema", "secrets", "tool", "policy", "ledger", "pipeline", "agent",
    "net", "telemetry", "mcp", "providers", "config", "gateway",
]  # fmt: skip
RANK = {name: rank for rank, name in enumerate(FOLDERS)}
# The core's library ends before this folder (docs/decisions/0031-two-libraries.md).
FIRST_OF_MCP = "net"

# Where a folder has sub-folders: what each may see beside itself, of the same folder. Tests see all of them.
SUBFOLDERS = {
    "ledger/audit": set(),
    "ledger": {"ledger/audit"},
    "ledger/sqlite": {"ledger", "ledger/audit"},
    "ledger/control": {"ledger", "ledger/audit"},
}

# The headers of a folder that the sources of later folders may include; tests may include others. What a header
# gives is what it includes itself.
FACES = {
    "ledger": {
        "ledger/ledger.h": "the interface",
        "ledger/call_row.h": "what ledger.h takes and gives: a call",
        "ledger/approval_rules.h": "what ledger.h takes and gives: an approval",
        "ledger/state_machine.h": "what ledger.h takes and gives: states and standings",
        "ledger/operations.h": "what operators ask of a durable ledger",
        "ledger/decisions.h": "a person's decision and its event, in one step for every door",
        "ledger/digest.h": "fingerprints and action digests: pure functions of a request",
        "ledger/blocking_waiter.h": "how to wait for a reply of ledger.h where blocking is allowed",
    },
}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_CMAKE_FOLDER = re.compile(r"^[ \t]*callgate_folder\([ \t]*(\w+)[ \t]*(\w*)[ \t]*\)", re.MULTILINE)
_MCP_HEADER = re.compile(r"callgate/mcp[^/]*\.h")
_TYPE_OR_BRACE = re.compile(
    r"\bnamespace\b[^{};=]*\{"
    r"|\b(?:class|struct|union|enum(?:[ \t]+(?:class|struct))?)[ \t]+(?:CALLGATE_\w+(?:\([^()]*\))?[ \t]+)?(?P<name>\w+)"
    r"(?:[ \t]+final)?[ \t]*(?::[ \t]*[\w:]+[ \t]*)?(?P<end>[;{:])"
    r"|[{}]"
)


def folder_of(file):
    """The folder of src/ that a file (relative to the root) belongs to; None outside src/ or directly in it."""
    return file.parts[1] if file.parts[0] == "src" and len(file.parts) > 2 else None


def place_of(file):
    """The folder with its sub-folder, where it has any: "ledger/audit", "ledger", "json"."""
    return "/".join(file.parts[1:-1]) if folder_of(file) in _WITH_SUBFOLDERS else folder_of(file)


_WITH_SUBFOLDERS = {place.split("/")[0] for place in SUBFOLDERS}


def library_of(folder):
    return "callgate_mcp" if RANK[folder] >= RANK[FIRST_OF_MCP] else "callgate"


def is_of_core(file):
    """Whether what uses the core alone has this file: a public header or a source."""
    if file.parts[0] == "include":
        return not file.name.startswith("mcp")
    return file.parts[0] == "src" and library_of(folder_of(file) or FOLDERS[0]) == "callgate"


def is_test(file):
    return file.stem.endswith(("_test", "_testing", "_bench"))


def may_see(home, place):
    """Whether sources of a place of src/ may see another: "ledger/sqlite" sees "ledger", "json" sees "base"."""
    if home == place:
        return True
    if home.split("/")[0] == place.split("/")[0]:
        return place in SUBFOLDERS.get(home, ())
    return RANK.get(place.split("/")[0], len(FOLDERS)) < RANK[home.split("/")[0]]


def target_of(root, file, quoted, path):
    """The file that an #include reaches, relative to the root, if it is in src/ or apps/; it need not exist."""
    if quoted and (root / file.parent / path).is_file():
        resolved = (root / file.parent / path).resolve()
        if not resolved.is_relative_to(root.resolve()):
            return None
        resolved = resolved.relative_to(root.resolve())
        return resolved if resolved.parts[0] in ("src", "apps") else None
    parts = [part for part in path.split("/") if part not in (".", "..")]
    if parts and parts[0] in ("src", "apps"):
        return PurePosixPath(*parts)
    # A name that is no folder of ours yet is somebody else's header.
    if len(parts) > 1 and (parts[0] in RANK or (root / "src" / parts[0]).is_dir()):
        return PurePosixPath("src", *parts)
    if quoted and parts and not (root / "include" / path).is_file():
        for app in sorted((root / "apps").glob("*")):
            if (app / path).is_file():
                return PurePosixPath("apps", app.name, *parts)
    return None


def check_include(file, target, path):
    """What is wrong with an #include of a file in src/ or apps/; None if nothing is."""
    home = folder_of(file)
    if target.parts[0] == "apps":
        if file.parts[0] in ("src", "include"):
            return f"'{path}' is of apps/, which the library does not know"
        if file.parts[0] != "apps" and ".." in path.split("/"):
            return f"'{path}' reaches into apps/ by a relative path; name the folder in CMakeLists.txt"
        return None
    folder = folder_of(target)
    if folder is None:
        return None
    if file.parts[0] == "include":
        return f"a public header includes '{path}' of src/{folder}; users do not have it"
    if home is None:
        return None
    if home != folder:
        if not may_see(home, folder):
            return f"src/{home} includes '{path}', but {folder} stands after {home} in the order"
        shown = "/".join(target.parts[1:])
        if folder in FACES and shown not in FACES[folder] and not is_test(file):
            return f"'{path}' is not among the headers that {folder} shows to others (FACES in tools/check_includes.py)"
    elif not is_test(file) and not may_see(place_of(file), place_of(target)):
        return f"src/{place_of(file)} includes '{path}', but may not see {place_of(target)}"
    return None


def types_of(code):
    """The classes that a source names at namespace level, as (folder of the namespace, name, offset, is it defined)."""
    spaces = []  # of each open brace: the namespace's words, or None
    for match in _TYPE_OR_BRACE.finditer(code):
        text = match.group()
        if text == "}":
            if spaces:
                spaces.pop()
            continue
        words = [word for space in spaces for word in space or ()]
        if match.group("name") is not None and None not in spaces:
            folder = words[1] if len(words) > 1 and words[0] == "callgate" else None
            yield folder, match.group("name"), match.start("name"), match.group("end") != ";"
        if text.endswith("{"):
            spaces.append(re.findall(r"\w+", text)[1:] if text.startswith("namespace") else None)


def check_file(root, file, text):
    home = folder_of(file)
    public = file.parts[0] == "include"
    if home is not None and home not in RANK:
        yield file, 1, f"folder '{home}' has no place in the order; add it to FOLDERS in tools/check_includes.py"
        return
    if home in _WITH_SUBFOLDERS and place_of(file) not in SUBFOLDERS:
        yield file, 1, f"'{place_of(file)}' has no place in the order; add it to SUBFOLDERS in tools/check_includes.py"
        return
    for match in _INCLUDE.finditer(source_text.without_comments(text)):
        line = source_text.line_of(text, match.start(1) if match.group(1) else match.start(2))
        path = match.group(1) or match.group(2)
        target = target_of(root, file, match.group(1) is not None, path)
        wrong = check_include(file, target, path) if target is not None else None
        if wrong is not None:
            yield file, line, wrong
        if path.startswith("boost/beast") and home != "net":
            yield file, line, f"'{path}': Beast is for src/net alone"
        if public and path.startswith("boost/asio") and file.name != "async.h":
            yield file, line, f"'{path}': of the public headers only async.h may show Asio"
        if _MCP_HEADER.fullmatch(path) and is_of_core(file):
            yield file, line, f"'{path}' is of MCP's library, and whoever links the core alone does not have it"


def check_declarations(texts):
    """Classes of folders out of sight that a folder declares itself."""
    defined = {}
    declared = []
    for file, text in texts:
        if folder_of(file) not in RANK and file.parts[0] != "include":
            continue
        code = source_text.code_only(text)
        for folder, name, offset, defines in types_of(code):
            if defines:
                defined.setdefault(name, set()).add(place_of(file))
            if folder_of(file) is not None and not is_test(file):
                declared.append((file, source_text.line_of(code, offset), folder, name, defines))
    for file, line, folder, name, defines in declared:
        home = place_of(file)
        places = defined.get(name, set())
        if folder in RANK and folder != folder_of(file) and not may_see(home, folder):
            yield file, line, f"src/{home} declares {name} of {folder}, which stands after it in the order"
        elif not defines and places and None not in places and not any(may_see(home, one) for one in places):
            yield file, line, f"src/{home} declares {name} of {', '.join(sorted(places))}, which it may not see"


def check_cmake(root):
    lists = root / "CMakeLists.txt"
    text = lists.read_text() if lists.is_file() else ""
    lines = list(_CMAKE_FOLDER.finditer(text))
    named = [match[1] for match in lines]
    if named != sorted(named, key=lambda name: RANK.get(name, -1)):
        yield "CMakeLists.txt", 1, f"callgate_folder() lines are not in the order of the folders: {' '.join(named)}"
    for folder in FOLDERS:
        if folder not in named and any((root / "src" / folder).rglob("*.cpp")):
            yield "CMakeLists.txt", 1, f"src/{folder} has sources, but there is no callgate_folder({folder})"
    for match in lines:
        folder, library = match[1], match[2] or "callgate"
        if folder in RANK and library != library_of(folder):
            line = source_text.line_of(text, match.start(1))
            yield "CMakeLists.txt", line, f"src/{folder} goes into {library}, and belongs to {library_of(folder)}"


def check(root):
    yield from check_cmake(root)
    texts = [(file, (root / file).read_text()) for file in source_text.files(root)]
    for file, text in texts:
        yield from check_file(root, file, text)
    yield from check_declarations(texts)


if __name__ == "__main__":
    source_text.main(check, "include direction")
