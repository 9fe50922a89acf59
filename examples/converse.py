#!/usr/bin/env python3
"""converse.py PROGRAM SESSION: PROGRAM is an MCP server on its standard input and output; SESSION says what is sent to it
(`> MESSAGE`) and what it answers (`< MESSAGE`), line by line, in turn. In an answer a string `{NAME}` stands for any string;
where a later message has it, that string is sent. Other lines are for readers. At the end the input is closed, and the program
ends with 0, having said nothing more.
"""
import json
import re
import subprocess
import sys

NAME = re.compile(r"^\{[a-z_]+\}$")


def fits(shown, real, names):
    """Whether the message is what is shown; names what the page leaves open."""
    if isinstance(shown, str) and NAME.match(shown) and isinstance(real, str):
        return names.setdefault(shown, real) == real
    if isinstance(shown, dict) and isinstance(real, dict):
        return shown.keys() == real.keys() and all(fits(shown[key], real[key], names) for key in shown)
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(fits(*both, names) for both in zip(shown, real))
    return type(shown) is type(real) and shown == real


def filled(message, names):
    if isinstance(message, dict):
        return {key: filled(value, names) for key, value in message.items()}
    if isinstance(message, list):
        return [filled(value, names) for value in message]
    return names.get(message, message) if isinstance(message, str) else message


def converse(server, lines):
    """What went otherwise than it is shown; None: nothing."""
    names = {}
    said = False
    for number, line in enumerate(lines, 1):
        if line.startswith("> "):
            server.stdin.write(json.dumps(filled(json.loads(line[2:]), names)) + "\n")
            server.stdin.flush()
        elif line.startswith("< "):
            said = True
            answer = server.stdout.readline()
            if not answer:
                return f"line {number}: the server ended"
            if not fits(json.loads(line[2:]), json.loads(answer), names):
                return f"line {number}:\n  shown    {line[2:]}\n  answered {answer}"
    server.stdin.close()
    if rest := server.stdout.read():
        return f"the server said more: {rest}"
    code = server.wait()
    return None if said and code == 0 else f"the server ended with exit code {code}, {'after' if said else 'without'} an answer"


def main():
    program, session = sys.argv[1:]
    with open(session, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        fault = converse(server, lines)
        if fault is not None:
            server.kill()
            print(f"{session}: {fault}", file=sys.stderr)
    return fault is not None


if __name__ == "__main__":
    sys.exit(main())
