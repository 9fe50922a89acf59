"""Compares what a page shows with what a program prints.

Ids, digests, keys and signatures may differ, but one that a page shows twice must be the same twice; a page's ids stand
for the real ones in the commands that follow. Times, durations, sizes, process and user ids may differ. Runs of spaces
count as one. A line of a page that is only … stands for any number of lines.
"""
import re

NAMED = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids
    r"|\b[0-9a-f]{16,}\b"  # digests
    r"|\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{20,}"  # verifier keys
    r"|[A-Za-z0-9+/]{43,}={0,2}"  # signatures, hashes in base64
    r"|\b[0-9a-f]{8}…[0-9a-f]*"  # ids cut short
)
VAGUE = [
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?( ?UTC|Z)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d+ h \d+ min\b|\b\d+ min \d+ s\b"), "<duration>"),
    (re.compile(r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|min|h)(?=[ ,.;)]|$)"), "<duration>"),
    (re.compile(r"\b\d+([.,]\d+)* ?(bytes|B|KiB|MiB|kB|MB)(?=[ ,.;)]|$)"), "<size>"),
    (re.compile(r"\b(uid|pid) \d+"), r"\1 <n>"),
    (re.compile(r"\b(user|os):[\w.-]+"), r"\1:<who>"),
    (re.compile(r"\b(\"(?:pid|uid|latency_ms|bytes|duration_ms)\": )[\d.]+"), r"\1<n>"),
    (re.compile(r"\b(bytes|rows_per_s|mono|latency_ms|milliseconds|wal_pages|wall|at)( +)[\d.]+"), r"\1 <n>"),
    (re.compile(r"\b\d+ signed checkpoints?"), "<n> signed checkpoints"),
    (re.compile(r"-{3,}|─{3,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
]


class Names:
    """Which real id a page's id stands for."""

    def __init__(self):
        self.real = {}

    def translate(self, command):
        return NAMED.sub(lambda found: self.real.get(found[0], found[0]), command)

    def page_name(self, real):
        """The other way round: what the page calls it."""
        return next((name for name, other in self.real.items() if other == real), real)

    def page_line(self, line):
        return NAMED.sub(lambda found: self.page_name(found[0]), line)

    def pair(self, shown, real):
        """Whether two lines are the same up to what may differ; new ids are remembered."""
        ours, theirs = NAMED.findall(shown), NAMED.findall(real)
        if vague(NAMED.sub("<id>", shown)) != vague(NAMED.sub("<id>", real)) or len(ours) != len(theirs):
            return False
        new = dict(self.real)
        for one, other in zip(ours, theirs):
            if new.setdefault(one, other) != other:
                return False
        self.real = new
        return True

    def match(self, shown, real):
        """The first difference between two lists of lines as (shown, real), or None."""
        at = 0
        for index, line in enumerate(shown):
            if line.strip() == "…":
                rest = shown[index + 1:]
                if not rest:
                    return None
                for skip in range(at, len(real) + 1):
                    before = dict(self.real)
                    if self.match(rest, real[skip:]) is None:
                        return None
                    self.real = before
                return rest[0], "nothing like it"
            if at >= len(real):
                return line, "the end"
            if not self.pair(line, real[at]):
                return line, real[at]
            at += 1
        return None if at == len(real) else ("the end", real[at])


def vague(line):
    for pattern, name in VAGUE:
        line = pattern.sub(name, line)
    return line.strip()
