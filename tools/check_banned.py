#!/usr/bin/env python3
"""Calls we do not make and types we do not use, and why. Comments and string literals do not count.

Usage: check_banned.py [ROOT]
"""

import io
import re
import tokenize

import source_text

# A plain call: not a member (x.system()), not of another namespace (boost::system::), but std::f and ::f are.
_CALL = r"(?<![\w.:>])(?:(?:std\s*)?::\s*)?%s\s*\("

EVERYWHERE = [
    (re.compile(_CALL % "system"), "system() runs a shell; use ProcessLauncher (src/os)"),
    (
        re.compile(r"\bstd\s*::\s*(?:basic_|w)?(?:c|s)?regex\w*|#\s*include\s*<regex>"),
        "std::regex takes exponential time and recurses; use schema's Regex (RE2)",
    ),
    (re.compile(_CALL % "v?sprintf"), "sprintf writes past its buffer; use fmt"),
    (
        re.compile(r"\bstd\s*::\s*s?rand\b|" + _CALL % "s?rand"),
        "rand() is global and predictable; take an Rng (src/base)",
    ),
]
IN_TESTS = [
    (
        re.compile(r"\bsleep_(?:for|until)\b|" + _CALL % "(?:u|nano)?sleep"),
        "a test that sleeps is slow when it passes and flaky when it fails; wait for the event or inject the clock",
    ),
]
IN_PRODUCT = [
    (
        re.compile(
            r"\bstd\s*::\s*(?:(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex|condition_variable(?:_any)?)\b"
        ),
        "clang cannot say who holds it; use Mutex, SharedMutex or CondVar (src/base/mutex.h) and name what it guards",
    ),
    (
        re.compile(r"\bstd\s*::\s*(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b"),
        "clang does not see that it locks; use MutexLock, ReaderLock or WriterLock (src/base/mutex.h)",
    ),
]
IN_SCRIPTS = {
    ".py": re.compile(r"\bsleep\s*\("),
    ".sh": re.compile(r"(?:^|[;&|(]|\bdo\b|\bthen\b)[ \t]*sleep[ \t]+[\d$\"]", re.MULTILINE),
}
# tests/cli/harness.py reports what is skipped; a skip elsewhere looks like success.
UNSEEN_SKIP = (
    re.compile(r"\bskipTest\b|\bSkipTest\b|\bunittest\s*\.\s*skip\w*"),
    "nobody learns of this skip; run it by tests/cli/harness.py, or end with 77 and say SKIP_RETURN_CODE 77",
)


def is_test(file):
    return file.name.endswith("_test.cpp") or file.parts[0] == "tests"


def is_product(file):
    """Whether it is part of the library or the program; base/mutex.h, which holds the standard's locks, is not meant."""
    if file.parts[0] not in ("src", "apps") or file.as_posix() == "src/base/mutex.h":
        return False
    return not file.stem.endswith(("_test", "_testing", "_bench"))


def rules_of(file):
    rules = list(EVERYWHERE)
    if is_test(file):
        rules += IN_TESTS
    if is_product(file):
        rules += IN_PRODUCT
    return rules


def python_code(text):
    """Python with comments and strings blanked out."""
    lines = [list(line) for line in text.splitlines(keepends=True)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            for row in range(token.start[0] - 1, token.end[0]):
                first = token.start[1] if row == token.start[0] - 1 else 0
                last = token.end[1] if row == token.end[0] - 1 else len(lines[row])
                lines[row][first:last] = [c if c == "\n" else " " for c in lines[row][first:last]]
    return "".join("".join(line) for line in lines)


def shell_code(text):
    return re.sub(r"(?m)(?:^|(?<=\s))#.*$", "", text)


def check(root):
    for file in source_text.files(root):
        code = source_text.code_only((root / file).read_text())
        for rule, sentence in rules_of(file):
            for match in rule.finditer(code):
                yield file, source_text.line_of(code, match.start()), sentence
    for file in source_text.files(root, set(IN_SCRIPTS)):
        if not is_test(file):
            continue
        text = (root / file).read_text()
        code = python_code(text) if file.suffix == ".py" else shell_code(text)
        for match in IN_SCRIPTS[file.suffix].finditer(code):
            yield file, source_text.line_of(code, match.end()), IN_TESTS[0][1]
        if file.suffix == ".py" and file.parts[:2] != ("tests", "cli"):
            for match in UNSEEN_SKIP[0].finditer(code):
                yield file, source_text.line_of(code, match.start()), UNSEEN_SKIP[1]


if __name__ == "__main__":
    source_text.main(check, "banned calls")
