#!/usr/bin/env python3
"""Include direction: a folder of src/ may include only itself and the folders above it in FOLDERS.

Also: include/callgate includes nothing of src/; Beast is seen only by src/net; Asio reaches public headers only
in async.h; and CMakeLists.txt builds every folder that has sources, in this order.
Usage: check_includes.py [ROOT]
"""

import re

import source_text

FOLDERS = [
    "base", "os", "json", "redact", "wire", "schema", "secrets", "tool", "policy", "ledger", "pipeline", "agent",
    "net", "telemetry", "mcp", "providers", "config", "gateway",
]  # fmt: skip
RANK = {name: rank for rank, name in enumerate(FOLDERS)}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*(?:include|import)[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_CMAKE_FOLDER = re.compile(r"^callgate_folder\((\w+)\)", re.MULTILINE)


def folder_of(file):
    """The folder of src/ that a file (relative to the root) belongs to; None outside src/ or directly in it."""
    return file.parts[1] if file.parts[0] == "src" and len(file.parts) > 2 else None


def target_folder(root, file, quoted, path):
    """The folder of src/ that an #include in `file` reaches, if any."""
    if quoted and (root / file.parent / path).is_file():
        resolved = (root / file.parent / path).resolve()
        if resolved.is_relative_to((root / "src").resolve()):
            return folder_of(resolved.relative_to(root.resolve()))
        return None
    parts = [part for part in path.split("/") if part not in (".", "..")]
    if parts and parts[0] == "src":
        parts = parts[1:]
    # A name that is no folder of ours yet is somebody else's header.
    return parts[0] if len(parts) > 1 and (parts[0] in RANK or (root / "src" / parts[0]).is_dir()) else None


def check_file(root, file, text):
    home = folder_of(file)
    public = file.parts[0] == "include"
    if home is not None and home not in RANK:
        yield file, 1, f"folder '{home}' has no place in the order; add it to FOLDERS in tools/check_includes.py"
        return
    for match in _INCLUDE.finditer(source_text.without_comments(text)):
        line = source_text.line_of(text, match.start(1) if match.group(1) else match.start(2))
        path = match.group(1) or match.group(2)
        target = target_folder(root, file, match.group(1) is not None, path)
        if target is not None and public:
            yield file, line, f"a public header includes '{path}' of src/{target}; users do not have it"
        elif target is not None and home is not None and target != home:
            if RANK.get(target, len(FOLDERS)) > RANK[home]:
                yield file, line, f"src/{home} includes '{path}', but {target} stands after {home} in the order"
        if path.startswith("boost/beast") and home != "net":
            yield file, line, f"'{path}': Beast is for src/net alone"
        if public and path.startswith("boost/asio") and file.name != "async.h":
            yield file, line, f"'{path}': of the public headers only async.h may show Asio"


def check_cmake(root):
    lists = root / "CMakeLists.txt"
    named = _CMAKE_FOLDER.findall(lists.read_text()) if lists.is_file() else []
    if named != sorted(named, key=lambda name: RANK.get(name, -1)):
        yield "CMakeLists.txt", 1, f"callgate_folder() lines are not in the order of the folders: {' '.join(named)}"
    for folder in FOLDERS:
        if folder not in named and any((root / "src" / folder).rglob("*.cpp")):
            yield "CMakeLists.txt", 1, f"src/{folder} has sources, but there is no callgate_folder({folder})"


def check(root):
    yield from check_cmake(root)
    for file in source_text.files(root):
        yield from check_file(root, file, (root / file).read_text())


if __name__ == "__main__":
    source_text.main(check, "include direction")
