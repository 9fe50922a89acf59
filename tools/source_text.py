"""What the check scripts share: which files are ours, and C++ text with comments and literals blanked out.

Blanking keeps every character's place (newlines stay, the rest becomes spaces), so an offset in the blanked text is
an offset in the file.
"""

import re
import sys
from pathlib import Path

CPP = {".h", ".cpp"}
TOP_FOLDERS = ("include", "src", "apps", "tests", "fuzz", "bench", "examples", "bindings")

_TOKEN = re.compile(
    r"""
    (?P<comment> //(?:\\\n|[^\n])* | /\*.*?(?:\*/|\Z) )
  | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z) )
  | (?P<string> "(?:\\.|[^"\\\n])*" )
  | (?P<number> \.?[0-9](?:'?[0-9A-Za-z_.])* )
  | (?P<word> [A-Za-z_][A-Za-z0-9_]* )
  | (?P<char> '(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    """Comments become spaces; string literals stay (an #include needs them)."""
    return _TOKEN.sub(lambda m: _blank(m.group()) if m.lastgroup == "comment" else m.group(), text)


def code_only(text):
    """Comments and what stands inside string and character literals become spaces."""

    def replace(match):
        token = match.group()
        if match.group("comment") is not None:
            return _blank(token)
        if match.group("raw") is not None or match.group("string") is not None or match.group("char") is not None:
            return token[0] + _blank(token[1:-1]) + token[-1] if len(token) > 1 else token
        return token

    return _TOKEN.sub(replace, text)


def files(root, suffixes=CPP):
    """Our own files under the root, sorted, as paths relative to it."""
    found = []
    for top in TOP_FOLDERS:
        for path in (root / top).rglob("*"):
            relative = path.relative_to(root)
            if path.suffix in suffixes and path.is_file() and "node_modules" not in relative.parts:
                found.append(relative)
    return sorted(found)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def main(check, name):
    """Run `check(root)`, which yields (file, line, sentence), print what it finds, and say how it went."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    findings = list(check(root))
    for file, line, sentence in findings:
        print(f"{file}:{line}: {sentence}")
    count = len(files(root))
    print(f"{name}: {count} files, {len(findings)} findings")
    if count == 0:
        sys.exit(f"{name}: no sources under {root}; a check of nothing must not look like success")
    sys.exit(1 if findings else 0)
