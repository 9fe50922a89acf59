"""The Markdown pages of this repository: their fenced blocks and headings.

A fenced block is a snippet by the first word of its info string (```console, ```cpp, ```json …). An HTML comment on
the line before says more:

    <!-- file: NAME -->        the block is written to NAME in the page's scratch directory
    <!-- output -->            the block is what the program above prints
    <!-- not run: REASON -->   the block is neither compiled nor run
    <!-- newcomer: WORD -->    the block is a step of tests/newcomer

The public headers have examples in their comments, which are snippets too.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(`{3,})\s*([^`]*)$")
COMMENT = re.compile(r"^<!--\s*(output|file|not run|newcomer)\s*(?::\s*(.*?))?\s*-->$")


class Block:
    def __init__(self, page, line, info, mark, argument):
        words = info.split()
        self.page = page  # relative to the repository
        self.line = line  # of the opening fence, from 1
        self.language = words[0] if words else ""
        self.words = words[1:]
        self.mark = mark
        self.argument = argument
        self.lines = []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def where(self):
        return f"{self.page}:{self.line}"


def all_pages():
    """Every Markdown file that git knows or would add."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.split()
    return sorted(name for name in listed if (ROOT / name).is_file())


def public_headers():
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / "include/callgate").glob("*.h"))


def examples(header):
    """The C++ that stands in a header's comments: lines set in by five spaces or more, behind an empty line of the comment."""
    found, block, empty = [], None, False
    for number, line in enumerate((ROOT / header).read_text(encoding="utf-8").splitlines(), 1):
        comment = re.match(r"^\s*///?(?: (.*))?$", line)
        text = None if comment is None else comment[1] or ""
        if text is not None and text.startswith("    ") and (block is not None or empty):
            if block is None:
                block = Block(header, number - 1, "cpp", None, None)
                found.append(block)
            block.lines.append(text[4:])
        else:
            block = None
        empty = text is not None and not text.strip()
    return found


def snippet_pages():
    return ["README.md"] + sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs/guide").glob("*.md"))


def blocks(page):
    found, block, fence, comment = [], None, None, (None, None)
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        opening = FENCE.match(line)
        if block is not None:
            if opening and len(opening[1]) >= len(fence) and not opening[2].strip():
                found.append(block)
                block = None
                comment = (None, None)
            else:
                block.lines.append(line)
            continue
        if opening:
            fence = opening[1]
            block = Block(page, number, opening[2], *comment)
            continue
        mark = COMMENT.match(line.strip())
        if mark:
            comment = (mark[1], mark[2])
        elif line.strip():
            comment = (None, None)
    if block is not None:
        raise SystemExit(f"{block.where}: this block is never closed")
    return found


def prose_lines(page):
    """(number, line) of what is outside fenced blocks."""
    inside = None
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        opening = FENCE.match(line)
        if opening and inside is None:
            inside = opening[1]
        elif opening and len(opening[1]) >= len(inside or "") and not opening[2].strip():
            inside = None
        elif inside is None:
            yield number, line


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    seen = {}
    for _, line in prose_lines(page):
        heading = re.match(r"^#{1,6}\s+(.*?)\s*#*$", line)
        if not heading:
            continue
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        yield name if count == 0 else f"{name}-{count}"
