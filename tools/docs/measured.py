#!/usr/bin/env python3
"""docs/measured.md: what each measuring verb said last, with its date and commit.

    measured.py run VERB...         run `make VERB` for each, and take its RESULT line
    measured.py read VERB=LOG...    take the RESULT line of a log instead
    measured.py check               the page is well-formed; its rows name verbs that the Makefile has

Only the table between the two marks is written; one row per verb. The RESULT line goes in as it was printed, so no figure
here was ever typed. Figures that were measured before the table began stand below it, with the commit they belong to.
"""
import datetime
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402

PAGE = pages.ROOT / "docs/measured.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
HEAD = ["| verb | as of | commit | result |", "|---|---|---|---|"]
ROW = re.compile(r"^\| `make ([a-z-]+)` \| (\d{4}-\d\d-\d\d) \| ([0-9a-f]{7,}\+?) \| `(.+)` \|$")


def fail(text):
    raise SystemExit(f"measured: {text}")


def parts():
    text = PAGE.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        fail(f"{PAGE} needs the marks {BEGIN} and {END}, once each")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    rows = {}
    for line in table.strip().splitlines():
        if line in HEAD:
            continue
        row = ROW.match(line)
        if not row:
            fail(f"this is no row of the table: {line}")
        rows[row[1]] = row.groups()[1:]
    return before, rows, after


def verbs():
    return set(re.findall(r"^([a-z-]+):.*## ", (pages.ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def result_of(text, verb):
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("RESULT ")]
    if not lines:
        fail(f"{verb} printed no RESULT line")
    return "; ".join(line.removeprefix("RESULT ").replace("|", "/").replace("`", "'") for line in lines)


def commit():
    git = lambda *words: subprocess.run(["git", *words], cwd=pages.ROOT, text=True, capture_output=True, check=True).stdout.strip()
    return git("rev-parse", "--short=7", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


def write(results):
    before, rows, after = parts()
    today, now = datetime.date.today().isoformat(), commit()
    for verb, result in results.items():
        rows[verb] = (today, now, result)
    table = HEAD + [f"| `make {verb}` | {row[0]} | {row[1]} | `{row[2]}` |" for verb, row in sorted(rows.items())]
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(table) + "\n" + END + after, encoding="utf-8")


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("run", "read", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "check":
        _, rows, _ = parts()
        unknown = sorted(set(rows) - verbs())
        if unknown:
            fail(f"the Makefile has no verb {', '.join(unknown)}")
        return 0
    for word in sys.argv[2:]:
        verb, _, log = word.partition("=")
        if verb not in verbs():
            fail(f"the Makefile has no verb '{verb}'")
        if sys.argv[1] == "read":
            text = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
        else:
            print(f"measured: make {verb}", flush=True)
            ran = subprocess.run(["make", verb], cwd=pages.ROOT, text=True, stdout=subprocess.PIPE)
            if ran.returncode != 0:
                fail(f"make {verb} failed with exit code {ran.returncode}; its row stays as it was")
            text = ran.stdout
        write({verb: result_of(text, verb)})  # each as it comes: what was measured is not lost to a later failure
    return 0


if __name__ == "__main__":
    sys.exit(main())
