#!/usr/bin/env python3
"""Words: names of classes and comments keep to the tables under "## Words" in ARCHITECTURE.md.

- The glossary's places (third column) exist, and no word stands in it twice.
- A name of a class, struct, union or enum in our sources has none of the words of "not in a name". Names
  are taken word by word: CallBook has Book, Booking has not.
- A comment there has none of the phrases of "not in a comment", broken into lines or not. "told apart" is no "told".
Usage: check_words.py [ROOT]
"""

import re

import source_text

_ROW = re.compile(r"^\|(.+)\|[ \t]*$", re.MULTILINE)
_PLACE = re.compile(r"`([^`]+)`")
_TYPE = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:CALLGATE_\w+(?:\([^()]*\))?\s+)?"
    r"(?P<name>[A-Z]\w*)(?=\s*(?:final\b|[:{]))"
)
_COMMENT_MARK = re.compile(r"//[/!]?<?|/\*\*?|\*/|(?<=\n)[ \t]*\*")


def tables(text):
    """The tables of "## Words": {header of the first column: [(line, cells)]}."""
    start = re.search(r"^## Words$", text, re.MULTILINE)
    if start is None:
        return {}
    end = re.compile(r"^## ", re.MULTILINE).search(text, start.end())
    found = {}
    rows = None
    last = None
    for match in _ROW.finditer(text, start.end(), end.start() if end else len(text)):
        line = source_text.line_of(text, match.start())
        cells = [cell.strip() for cell in match.group(1).split("|")]
        if last is None or line != last + 1:
            rows = found.setdefault(cells[0], [])
        elif set(match.group(1)) - set("-| :"):
            rows.append((line, cells))
        last = line
    return found


def check_glossary(root, rows):
    known = {}
    for line, cells in rows:
        if len(cells) != 3 or not all(cells):
            yield "ARCHITECTURE.md", line, "a word has a meaning and a place: | word | meaning | where |"
            continue
        for word in cells[0].split(", "):
            if word in known:
                yield "ARCHITECTURE.md", line, f"'{word}' is explained in line {known[word]} already; one word, one meaning"
            known.setdefault(word, line)
        places = _PLACE.findall(cells[2])
        if not places:
            yield "ARCHITECTURE.md", line, f"'{cells[0]}' names no place; write it as `src/folder/file.h`"
        for place in places:
            if not (root / place).exists():
                yield "ARCHITECTURE.md", line, f"'{cells[0]}' is explained at {place}, which does not exist"


def words_of(name):
    """CallBookLimits: Call, Book, Limits."""
    return re.findall(r"[A-Z][a-z0-9]*", name)


def check_names(code, refused):
    for match in _TYPE.finditer(code):
        for word in words_of(match.group("name")):
            if word in refused:
                yield match.start("name"), f"{match.group('name')}: not '{word}' in a name; say {refused[word]}"


def comments_of(text):
    """Comments with their marks blanked out, and everything else blanked out, at their places."""
    code = source_text.without_comments(text)
    only = "".join(c if c == "\n" or code[i] != c else " " for i, c in enumerate(text))
    return _COMMENT_MARK.sub(lambda mark: " " * len(mark.group()), only)


def phrase_rule(phrase):
    words = r"\s+".join(re.escape(word) for word in phrase.split())
    end = r"(?!\s+apart\b)" if phrase.split()[-1] == "told" else ""
    return re.compile(rf"\b{words}\b{end}", 0 if re.fullmatch(r"[A-Z]\d", phrase) else re.IGNORECASE)


def check_comments(text, refused):
    comments = comments_of(text)
    for phrase, rule, instead in refused:
        for match in rule.finditer(comments):
            # A phrase does not reach over a blank line or over code.
            if "\n\n" not in text[match.start() : match.end()]:
                yield match.start(), f"not '{phrase}' in a comment; say {instead}"


def check(root):
    page = root / "ARCHITECTURE.md"
    found = tables(page.read_text()) if page.is_file() else {}
    for needed in ("word", "not in a name", "not in a comment"):
        if not found.get(needed):
            yield "ARCHITECTURE.md", 1, f"there is no table '{needed}' under '## Words'"
    yield from check_glossary(root, found.get("word", []))
    names = {word: cells[1] for _, cells in found.get("not in a name", []) for word in cells[0].split(", ")}
    phrases = [
        (phrase, phrase_rule(phrase), cells[1])
        for _, cells in found.get("not in a comment", [])
        for phrase in cells[0].split(", ")
    ]
    for file in source_text.files(root):
        text = (root / file).read_text()
        faults = [*check_names(source_text.code_only(text), names), *check_comments(text, phrases)]
        for offset, sentence in sorted(faults):
            yield file, source_text.line_of(text, offset), sentence


if __name__ == "__main__":
    source_text.main(check, "words")
