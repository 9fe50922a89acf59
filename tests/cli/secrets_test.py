#!/usr/bin/env python3
"""Secrets on the command line: where values come from, where they must not turn up, and what bad input gets.

Usage: secrets_test.py BINARY [--sanitized] [TEST...]
"""

import base64
import json
import os
import pathlib
import pty
import select
import signal
import stat
import subprocess
import termios

import harness
from harness import CliTest

VALUE = b"s3cr3t-canary-0123456789"
FORMS = (VALUE, base64.b64encode(VALUE).rstrip(b"="), VALUE.hex().encode(), VALUE[:12])


class SecretsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.path = self.dir / "secrets"

    def secrets(self, *arguments, **how):
        how.setdefault("env", {})["CALLGATE_SECRETS"] = str(self.path)
        return self.run_program("secrets", *arguments, **how)

    def put(self, connector, key, value=VALUE):
        ran = self.secrets("set", connector, key, stdin=value)
        self.assertEqual(ran.code, 0, ran)

    def reason(self, *arguments, **how):
        ran = self.secrets(*arguments, "--json", **how)
        self.assertEqual(ran.err, "", ran)
        error = json.loads(ran.out)["error"]
        return ran.code, error and error["details"]["reason"]


class Secrets(SecretsTest):
    def test_set_rotate_check_remove(self):
        self.put("github", "token")
        self.assertEqual(self.secrets("rotate", "github", "token", stdin=b"another value").code, 0)
        ran = self.secrets("check", "github", "token", "--json")
        answer = json.loads(ran.out)
        self.assertEqual((answer["present"], answer["version"], answer["previous"]), (True, 2, 1))
        self.assertRegex(answer["set_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        self.assertEqual(self.secrets("remove", "github", "token").code, 0)
        self.assertEqual(self.secrets("check", "github", "token").code, 1)
        self.assertEqual(self.reason("rotate", "github", "token"), (1, "no_such_secret"))

    def test_nothing_on_disk_or_screen_shows_names_or_values(self):
        self.put("conn-canary", "key-canary")
        shown = []
        for arguments in (("check", "conn-canary", "key-canary"), ("check",), ("check", "--json"), ("--help",)):
            ran = self.secrets(*arguments)
            shown.append((ran.out + ran.err).encode())
        for file in self.dir.iterdir():
            content = file.read_bytes()
            shown.append(content)
            self.assertNotIn(b"canary", content, file)
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file)
        for text in shown:
            for form in FORMS:
                self.assertNotIn(form, text)
        names = sorted(file.name for file in self.dir.iterdir())
        self.assertEqual(names, ["secrets", "secrets.key", "secrets.key.lock", "secrets.lock"])

    def test_there_is_no_way_to_read_one_back(self):
        for verb in ("get", "list", "show", "dump", "export"):
            self.assertEqual(self.secrets(verb, "github", "token").code, 2)

    def test_a_value_is_no_argument(self):
        ran = self.secrets("set", "github", "token", VALUE.decode())
        self.assertEqual(ran.code, 2, ran)
        self.assertFalse(self.path.exists())

    def test_many_writers_at_once_lose_nothing(self):
        self.put("c", "first")
        started = [
            subprocess.Popen(
                [harness.binary, "secrets", "set", "c", f"k{i}"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env={**os.environ, "CALLGATE_SECRETS": str(self.path)},
            )
            for i in range(8)
        ]  # fmt: skip
        for process in started:
            _, err = process.communicate(VALUE)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(json.loads(self.secrets("check", "--json").out)["secrets"], 9)

    def test_the_key_changes_and_the_old_one_opens_nothing(self):
        self.put("github", "token")
        self.assertEqual(self.secrets("rotate-key", "--new-key-file", self.dir / "new").code, 0)
        self.assertEqual(self.reason("check"), (2, "wrong_key"))
        self.assertEqual(self.secrets("check", "github", "token", "--key-file", self.dir / "new").code, 0)


class BadSecrets(SecretsTest):
    def test_damaged_foreign_and_unreachable_files(self):
        self.put("github", "token")
        good = self.path.read_bytes()
        for content, reason in (
            (b"", "not_a_secrets_file"),
            (b"SQLite format 3\0" + bytes(4096), "not_a_secrets_file"),
            (good[:-1], "secrets_damaged"),
            (good[:40], "secrets_damaged"),
            (good + b"\0", "secrets_damaged"),
            (good[:100] + bytes([good[100] ^ 1]) + good[101:], "secrets_damaged"),
            (good[:19] + b"\x07" + good[20:], "secrets_version"),
            (bytes(70 << 20), "file_too_large"),
        ):
            with self.subTest(reason, size=len(content)):
                self.path.write_bytes(content)
                self.assertEqual(self.reason("check", "github", "token"), (2, reason))
                self.assertEqual(self.reason("set", "github", "token", stdin=VALUE), (2, reason))
                self.assertEqual(self.path.read_bytes(), content)
                ran = self.secrets("check")
                self.assertEqual(ran.out, "", ran)
                self.assertIn(str(self.path), ran.err)
        self.path.write_bytes(good)
        self.assertEqual(self.secrets("check").code, 0)
        self.path.unlink()
        self.path.mkdir()
        self.assertEqual(self.reason("check"), (2, "file_is_directory"))
        self.assertEqual(self.reason("set", "a", "b", "--file", self.dir / "no/such/file", stdin=VALUE)[0], 2)

    def test_keys_that_cannot_be_used(self):
        self.put("github", "token")
        key = pathlib.Path(f"{self.path}.key")
        key.chmod(0o644)
        self.assertEqual(self.reason("check"), (2, "key_permission"))
        key.chmod(0o600)
        good = key.read_bytes()
        key.write_bytes(good[:-10])
        self.assertEqual(self.reason("check"), (2, "key_text"))
        self.assertNotIn(good[:20].decode(), self.secrets("check").err)
        key.unlink()
        self.assertEqual(self.reason("check"), (2, "key_missing"))
        self.assertEqual(self.reason("set", "github", "token", stdin=VALUE), (2, "key_missing"))
        self.assertEqual(self.reason("check", "--key-env", "NO_SUCH_KEY"), (2, "key_missing"))
        self.assertEqual(self.reason("check", "--key-credential", "../x"), (2, "key_source"))
        hex_key = good.decode().strip()
        self.assertEqual(self.secrets("check", "--key-env", "K", env={"K": hex_key}).code, 0)
        b64_key = base64.b64encode(bytes.fromhex(hex_key)).decode()
        self.assertEqual(self.secrets("check", "--key-env", "K", env={"K": b64_key}).code, 0)

    def test_closed_and_endless_input(self):
        self.assertEqual(self.secrets("set", "a", "b", stdin=subprocess.DEVNULL, closed=(0,)).code, 2)
        self.assertEqual(self.reason("set", "a", "b", stdin=subprocess.DEVNULL), (2, "no_value"))
        with open("/dev/zero", "rb") as endless:
            self.assertEqual(self.reason("set", "a", "b", stdin=endless), (2, "value_too_long"))
        self.assertFalse(self.path.exists())


class SecretsAtATerminal(SecretsTest):
    def ask(self, after_prompt, *arguments):
        """Runs `secrets set` on a terminal; `after_prompt(process, terminal)` acts when it asks. (code, shown)"""
        try:
            main, side = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be opened here: {error}")
        self.addCleanup(os.close, main)
        process = subprocess.Popen(
            [harness.binary, "secrets", "set", "github", "token", *arguments],
            stdin=side, stdout=side, stderr=side, start_new_session=True,
            env={**os.environ, "CALLGATE_SECRETS": str(self.path), "NO_COLOR": "1"},
        )  # fmt: skip
        self.addCleanup(process.kill)
        shown = b""
        while b"(not shown): " not in shown:
            self.assertTrue(select.select([main], [], [], 60)[0], shown)
            shown += os.read(main, 4096)
        self.assertFalse(termios.tcgetattr(side)[3] & termios.ECHO)
        after_prompt(process, main)
        code = process.wait(60)
        self.assertTrue(termios.tcgetattr(side)[3] & termios.ECHO, "the echo is on again")
        os.set_blocking(main, False)
        while select.select([main], [], [], 0)[0]:
            shown += os.read(main, 4096)
        os.close(side)
        return code, shown.decode().replace("\r\n", "\n")

    def test_a_person_types_unseen(self):
        code, shown = self.ask(lambda _, terminal: os.write(terminal, VALUE + b"\n"))
        self.assertEqual(code, 0, shown)
        self.assertNotIn(VALUE.decode(), shown)
        self.assertIn("Value of token of github (not shown): \n✓ token of github: version 1 is set\n", shown)

    def test_ctrl_z_neither_stops_it_nor_brings_the_echo_back(self):
        def stop_and_go_on(process, terminal):
            os.write(terminal, VALUE[:3])
            process.send_signal(signal.SIGTSTP)
            with open(f"/proc/{process.pid}/status") as status:
                (mask,) = [line.split()[1] for line in status if line.startswith("SigIgn:")]
            self.assertTrue(int(mask, 16) >> (signal.SIGTSTP - 1) & 1)
            os.write(terminal, b"\x1a" + VALUE[3:] + b"\n")

        code, shown = self.ask(stop_and_go_on)
        self.assertEqual(code, 0, shown)
        self.assertNotIn(VALUE.decode()[3:], shown)

    def test_ctrl_c_changes_nothing(self):
        code, shown = self.ask(lambda process, _: process.send_signal(signal.SIGINT))
        self.assertEqual(code, 130, shown)
        self.assertIn("Called off", shown)
        self.assertFalse(self.path.exists())

    def test_the_end_of_input_is_no_value(self):
        code, shown = self.ask(lambda _, terminal: os.write(terminal, b"\x04"))
        self.assertEqual(code, 2, shown)
        self.assertIn("No value was given", shown)

    def test_a_line_too_long_for_a_terminal_is_not_cut_silently(self):
        code, shown = self.ask(lambda _, terminal: os.write(terminal, b"x" * 4095 + b"\n"))
        self.assertEqual(code, 2, shown)
        self.assertIn("through a pipe", " ".join(shown.split()))


if __name__ == "__main__":
    harness.main(__doc__)
