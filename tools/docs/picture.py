#!/usr/bin/env python3
"""The picture of README.md: a refused, an approved and a verified call, as the program prints them.

    picture.py --callgate BIN            make it anew and compare it with docs/picture.svg: exit 1 if it is another
    picture.py --callgate BIN --write    write docs/picture.svg
"""
import argparse
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pages  # noqa: E402
import shown  # noqa: E402

PICTURE = pages.ROOT / "docs/picture.svg"
COLUMNS = 96
ADVANCE, LINE, MARGIN = 8.0, 18, 16
COLOURS = {"31": "r", "32": "g", "33": "y", "36": "c", "1": "b", "2": "d"}
STYLE = ("text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#d6dbe4;white-space:pre}"
         ".p{fill:#7f8ea3}.w{fill:#ffffff}.r{fill:#ff6b6b}.g{fill:#6bd98f}.y{fill:#f2c14e}.c{fill:#66c7d9}.b{font-weight:bold}.d{fill:#8a93a3}")


class Session:
    """Runs commands in a scratch home, and keeps the lines of the picture."""

    def __init__(self, callgate, home):
        self.lines = []
        self.env = {"HOME": home, "PATH": f"{pathlib.Path(callgate).resolve().parent}:/usr/bin:/bin", "LANG": "C.UTF-8",
                    "TZ": "UTC", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
        self.env.update({name: os.environ[name] for name in ("ASAN_OPTIONS", "LSAN_OPTIONS") if name in os.environ})
        self.home = home

    def quiet(self, *words):
        return json.loads(subprocess.run(["callgate", *words, "--json"], env=self.env, cwd=self.home, text=True,
                                         stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout)

    def say(self, text):
        if self.lines:
            self.lines.append("")
        self.lines.append(f'<tspan class="p"># {html.escape(text)}</tspan>')

    def show(self, command, code=0, **variables):
        self.lines.append(f'<tspan class="p">$ </tspan><tspan class="w">{html.escape(command, quote=False)}</tspan>')
        ran = subprocess.run(["bash", "-c", re.sub(r"^callgate (.*)$", r"callgate \1 --color always", command)],
                             env={**self.env, **variables}, cwd=self.home, text=True, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if ran.returncode != code:
            raise SystemExit(f"picture: `{command}` ended with exit code {ran.returncode}:\n{ran.stdout}")
        for line in ran.stdout.splitlines():
            self.lines += [coloured(part) for part in wrapped(line)]


def wrapped(line):
    """A line that is too long for the picture, as several; the program leaves that to the terminal."""
    if len(line) <= COLUMNS or "\x1b" in line:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, COLUMNS, initial_indent="", subsequent_indent=indent, break_on_hyphens=False)


def coloured(line):
    """A line with escape sequences as tspans."""
    out, style = "", []
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        code = re.match(r"\x1b\[([\d;]*)m", part)
        if code:
            style = [] if code[1] in ("", "0") else style + [COLOURS[one] for one in code[1].split(";") if one in COLOURS]
        elif part:
            text = html.escape(part, quote=False)
            out += f'<tspan class="{" ".join(style)}">{text}</tspan>' if style else text
    return out


def make(callgate):
    with tempfile.TemporaryDirectory(prefix="callgate-picture-") as home:
        session = Session(callgate, home)
        session.say("A call that does not fit never reaches the tool.")
        session.show("""callgate call send_mail '{"to": "ada@example.org", "subjct": "Hello"}'""", 3)
        session.say("A risky one waits for a person, who decides about exactly this call.")
        session.show("""callgate call send_mail '{"to": ["ada@example.org"], "subject": "Hello"}'""", 4)
        one = session.quiet("approvals", "list")["approvals"][0]
        session.show("callgate approvals approve $id --yes --digest $digest", id=one["id"], digest=one["digest"])
        session.show("callgate call --resume $call", call=one["call_id"])
        session.say("It is on the record, and the record can be checked.")
        session.show("callgate audit verify")
    lines = session.lines
    width, height = int(MARGIN * 2 + ADVANCE * COLUMNS), MARGIN * 2 + LINE * len(lines)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
           "<title>A refused, an approved and a verified call</title>", f"<style>{STYLE}</style>",
           f'<rect width="{width}" height="{height}" rx="8" fill="#161b24"/>']
    for index, line in enumerate(lines):
        if line:
            out.append(f'<text x="{MARGIN}" y="{MARGIN + LINE * index + 13}" xml:space="preserve">{line}</text>')
    return out + ["</svg>"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--callgate", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    made = make(options.callgate)
    made = "\n".join(made).splitlines()
    there = PICTURE.read_text(encoding="utf-8").splitlines() if PICTURE.exists() else []
    difference = shown.Names().match(there, made)
    if difference is None:
        return 0
    if options.write:
        PICTURE.write_text("\n".join(made) + "\n", encoding="utf-8")
        return 0
    print("docs/picture.svg is not what the program prints now; `make picture` writes it anew.\n"
          "  there: {}\n  now:   {}".format(*difference))
    return 1


if __name__ == "__main__":
    sys.exit(main())
