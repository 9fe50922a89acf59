"""Runs the callgate program under limits and holds its answers to what every verb promises.

Limits are on processor time and address space, never on elapsed time. A program that passes one dies by a signal or
fails to allocate, and both fail the test.
"""

import fcntl
import json
import os
import pathlib
import pty
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
import xml.etree.ElementTree as ElementTree

MIB = 1 << 20

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["path"],
}
TOOL = {"name": "read", "description": "Reads", "inputSchema": SCHEMA}

# Set by main().
binary = None
sanitized = False


class Ran:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode("utf-8")
        self.err = process.stderr.decode("utf-8")

    def __repr__(self):
        return f"exit code {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


def start_at_terminal(test, arguments, columns):
    """The program at a terminal; what it writes there, and what is typed, goes through the number returned."""
    try:
        main, side = pty.openpty()
    except OSError as error:
        test.skipTest(f"no terminal can be opened here: {error}")
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [binary, *map(str, arguments)],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        preexec_fn=limits(),
    )
    os.close(side)
    return process, main


def limits(closed=(), memory=1024 * MIB):
    def apply():
        # A sanitized program reserves terabytes of address space and runs several times slower.
        seconds = 180 if sanitized else 30
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        for fd in closed:
            os.close(fd)

    return apply


class CliTest(unittest.TestCase):
    """A temporary directory, removed afterwards, and ways to run the program in it."""

    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def file(self, name, content):
        """Content is text, bytes, an iterable of bytes, or anything else to be written as JSON."""
        path = self.dir / name
        if isinstance(content, str):
            path.write_bytes(content.encode())
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif hasattr(content, "__next__"):
            with open(path, "wb") as out:
                out.writelines(content)
        else:
            path.write_text(json.dumps(content))
        return str(path)

    def run_program(self, *arguments, stdin=b"", closed=(), memory=1024 * MIB, env=None, **streams):
        streams.setdefault("stdout", subprocess.PIPE)
        streams.setdefault("stderr", subprocess.PIPE)
        if isinstance(stdin, bytes):
            streams["input"] = stdin
        else:
            streams["stdin"] = stdin
        process = subprocess.run(
            [binary, *map(str, arguments)],
            preexec_fn=limits(closed, memory),
            # Nothing is kept outside the test: what needs a ledger says where.
            env={**os.environ, "CALLGATE_LEDGER": "memory", **(env or {})},
            check=False,
            **streams,
        )
        self.assertGreaterEqual(process.returncode, 0, f"died by signal {-process.returncode}: {process.stderr}")
        return Ran(process) if streams["stdout"] == subprocess.PIPE else process

    def validate(self, *arguments, **how):
        return self.run_program("validate", *arguments, **how)

    def verdict(self, tool, arguments, *options):
        """The JSON answer for a tool and arguments given as values; the exit code must agree with it."""
        ran = self.validate("--json", *options, self.file("tool.json", tool), self.file("args.json", arguments))
        answer = self.answer(ran)
        self.assertIsNone(answer["error"], ran)
        self.assertEqual(ran.code, 0 if answer["valid"] else 1, ran)
        self.assertEqual(answer["valid"], answer["violations"] == [], ran)
        return answer

    def answer(self, ran):
        """What --json printed: one document, and nothing on standard error."""
        self.assertEqual(ran.err, "")
        answer = json.loads(ran.out)
        for member in ("valid", "tool", "form", "dialect", "violations", "coercions", "error"):
            self.assertIn(member, answer)
        for violation in answer["violations"]:
            self.assertTrue({"path", "schema_path", "keyword", "message"} <= violation.keys())
            self.assertTrue(violation["message"])
        return answer

    def assert_unusable(self, *arguments, reason, says="", stdin=b""):
        """Exit code 2 and one clear error, for people on standard error and for programs as JSON."""
        ran = self.validate(*arguments, stdin=stdin)
        self.assertEqual(ran.code, 2, ran)
        self.assertEqual(ran.out, "", ran)
        self.assertEqual(ran.err.count("✗"), 1, ran)
        first = ran.err.splitlines()[0]
        self.assertTrue(first.startswith("✗ ") and len(first) > 20, ran)
        self.assertLess(len(ran.err), 4000, ran)

        ran = self.validate("--json", *arguments, stdin=stdin)
        self.assertEqual(ran.code, 2, ran)
        answer = self.answer(ran)
        self.assertIs(answer["valid"], False, ran)
        error = answer["error"]
        self.assertIn(error["code"], ("config_error", "invalid_arguments"), ran)
        self.assertEqual(error["details"].get("reason"), reason, ran)
        self.assertTrue(error["message"].strip(), ran)
        self.assertNotIn("\n", error["message"], ran)
        self.assertIn(says, error["message"], ran)
        return error


class Report(unittest.TextTestResult):
    """Keeps the cases as tools/test_summary.py reads them: as GoogleTest writes them. Why one failed is in the output."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.cases = ElementTree.Element("testsuite")

    def note(self, test, result):
        names = {"name": test.id().rsplit(".", 1)[-1], "classname": type(test).__name__}
        return ElementTree.SubElement(self.cases, "testcase", **names, status="run", result=result)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        ElementTree.SubElement(self.note(test, "skipped"), "skipped", message=reason)

    def stopTest(self, test):
        super().stopTest(test)
        if not any(test is skipped for skipped, _ in self.skipped):
            self.note(test, "completed")


class Runner(unittest.TextTestRunner):
    resultclass = Report


def main(usage):
    """BINARY [--sanitized] [--results FILE] [TEST...], for the test script that calls this. FILE gets the report."""
    global binary, sanitized
    arguments = sys.argv[1:]
    if not arguments or arguments[0].startswith("-"):
        sys.exit(usage)
    binary = str(pathlib.Path(arguments.pop(0)).resolve())
    report = None
    if "--results" in arguments:
        at = arguments.index("--results")
        report = pathlib.Path(arguments[at + 1])
        del arguments[at : at + 2]
    if "--sanitized" in arguments:
        arguments.remove("--sanitized")
        sanitized = True
    # Whoever runs this keeps their own ledger to themselves.
    os.environ.pop("CALLGATE_LEDGER", None)
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        os.environ["CALLGATE_TEST_STATE"] = state  # for programs of ours that would make one of their own
        ran = unittest.main(argv=[sys.argv[0], *arguments], exit=False, testRunner=Runner).result
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        ElementTree.ElementTree(ran.cases).write(report, encoding="utf-8")
    sys.exit(not ran.wasSuccessful())
