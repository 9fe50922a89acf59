#!/usr/bin/env python3
"""links.py: every relative link of every Markdown page leads to a file, a folder or a heading that is there.

Also the paths in the ARCHITECTURE, guide and how-to pages that stand in backquotes and begin with a folder
of the repository. Prints each broken one with its page and line, and exits 1 if there is any. Nothing is fetched.
"""
import pathlib
import re
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402

LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(<?([^()\s>]*(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\)")
DEFINITION = re.compile(r"^\s*\[[^]]+\]:\s+(\S+)")
PATH = re.compile(r"`((?:src|include|apps|tests|tools|docs|examples|cmake|fuzz|bench)/[\w./-]+)`")
CODE = re.compile(r"`[^`]*`")


def targets(page):
    for number, line in pages.prose_lines(page):
        if page == "ARCHITECTURE.md" or page.startswith(("docs/guide/", "docs/how-to/")):
            for path in PATH.findall(line):
                if not re.search(r"/(NAME|STAGE)\b", path):  # stand for any
                    yield number, "/" + path
        plain = CODE.sub("", line)
        for link in LINK.findall(plain) + DEFINITION.findall(plain):
            yield number, link


def broken(page, target):
    if re.match(r"^[a-z][a-z0-9+.-]*:", target):
        return None
    path, _, anchor = target.partition("#")
    path = urllib.parse.unquote(path)
    if path.startswith("/"):
        there = pages.ROOT / path[1:]
    else:
        there = (pages.ROOT / page).parent / path if path else pages.ROOT / page
    there = there.resolve()
    if not there.exists():
        return "no such file"
    if anchor:
        if there.suffix != ".md":
            return "an anchor into a file that has none"
        if anchor not in set(pages.anchors(str(there.relative_to(pages.ROOT)))):
            return "no such heading"
    return None


def main():
    count = bad = 0
    for page in pages.all_pages():
        for number, target in targets(page):
            count += 1
            why = broken(page, target)
            if why:
                bad += 1
                print(f"{page}:{number}: {target}: {why}")
    print(f"pages={len(pages.all_pages())} links={count} links_broken={bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
