#!/usr/bin/env python3
"""tools/audit_verify.py by itself: its signatures, its strictness, its command line."""

import base64
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import audit_verify  # noqa: E402

# RFC 8032, section 7.1: public key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
        "be24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb430"
        "2aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716e"
        "d28dc027beceea1ec40a",
    ),
]
HEADER = '{"callgate_audit":1,"chain":"c"}\n'
EVENT = {"autonomy": "A2", "boot": "b", "chain": "c", "mono": 0, "risk": "low", "seq": 1, "time": 0, "type": "t", "v": 1}


class Signatures(unittest.TestCase):
    def test_the_vectors_of_rfc_8032(self):
        for public, message, signature in VECTORS:
            self.assertTrue(audit_verify.ed25519_verify(*map(bytes.fromhex, (public, message, signature))))

    def test_every_flipped_bit_is_noticed(self):
        public, message, signature = map(bytes.fromhex, VECTORS[2])
        for place in range(0, 64 * 8, 37):
            changed = bytearray(signature)
            changed[place // 8] ^= 1 << place % 8
            self.assertFalse(audit_verify.ed25519_verify(public, message, bytes(changed)))
        self.assertFalse(audit_verify.ed25519_verify(public, message + b"x", signature))

    def test_a_second_spelling_of_a_signature_is_refused(self):
        public, message, signature = map(bytes.fromhex, VECTORS[2])
        s = int.from_bytes(signature[32:], "little") + audit_verify.L
        self.assertFalse(audit_verify.ed25519_verify(public, message, signature[:32] + s.to_bytes(32, "little")))


class Events(unittest.TestCase):
    def refused(self, **changes):
        event = {name: value for name, value in {**EVENT, **changes}.items() if value is not None}
        try:
            audit_verify.check_event(event)
        except ValueError:
            return True
        return False

    def test_only_known_members_with_the_right_values(self):
        self.assertFalse(self.refused())
        self.assertFalse(self.refused(tool="x", tool_hex=None, attempt=1, call="00000000-0000-0000-0000-000000000001"))
        self.assertFalse(self.refused(tool_hex="ff", commits={"detail": "0" * 64}))
        for wrong in [
            {"tool": ""}, {"tool": 1}, {"tool": "x" * 4097}, {"unknown": "x"}, {"tool_hex": "78"}, {"tool_hex": "FF"},
            {"tool": "x", "tool_hex": "ff"}, {"type_hex": "ff"}, {"seq": 0}, {"seq": 1.0}, {"seq": True}, {"seq": 2**53},
            {"has_key": 2}, {"attempt": 0}, {"v": 2}, {"v": None}, {"boot": None}, {"commits": {}},
            {"commits": {"Bad": "0" * 64}}, {"commits": {"detail": "0"}}, {"call": "0"},
            {"call": "00000000-0000-0000-0000-000000000000"},
        ]:  # fmt: skip
            self.assertTrue(self.refused(**wrong), wrong)


def note(chain, size=0, root=hashlib.sha256(b"").digest()):
    """A checkpoint; nobody checks who signed what a witness keeps."""
    signature = base64.b64encode(bytes(68)).decode()
    return f"callgate/audit/{chain}\n{size}\n{base64.b64encode(root).decode()}\n\n\u2014 w {signature}\n"


def anchor_line(text):
    return audit_verify.canonical({"checkpoint": text}).decode() + "\n"


class CommandLine(unittest.TestCase):
    def run_on(self, text, *arguments, witness=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "log.jsonl"
            path.write_text(text, encoding="utf-8")
            if witness is not None:
                kept = pathlib.Path(folder) / "witness"
                kept.write_text(witness, encoding="utf-8")
                arguments = (*arguments, "--witness", str(kept))
            command = [sys.executable, "-B", str(TOOLS / "audit_verify.py"), *arguments, str(path)]
            return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_an_empty_log_is_unwitnessed(self):
        done = self.run_on(HEADER, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["verdict"], "unwitnessed")

    def test_the_first_bad_record_is_named(self):
        line = json.dumps({"event": EVENT, "hash": "0" * 64}, separators=(",", ":")) + "\n"
        done = self.run_on(HEADER + line)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("BROKEN at 1 (hash): "), done.stdout)
        for text, place in [("", 1), (HEADER[:-1], 1), (HEADER + "{}\n", 1), (HEADER + "[" * 100000 + "\n", 1)]:
            done = self.run_on(text, "--json")
            self.assertEqual(done.returncode, 1)
            fault = json.loads(done.stdout)["fault"]
            self.assertEqual((fault["kind"], fault["sequence"]), ("malformed", place))

    def test_another_chain_than_asked_for(self):
        self.assertEqual(json.loads(self.run_on(HEADER, "--chain", "d", "--json").stdout)["fault"]["kind"], "chain")

    def test_a_witness_is_an_anchor_file_or_notes_as_they_were_printed(self):
        one, other = note("c"), note("d")
        for witness, notes, unreadable in [
            (one, 1, 0), (one + one, 2, 0), (one + "\n" + one, 2, 0), (anchor_line(one), 1, 0), (other + one, 1, 0),
            (json.dumps({"checkpoint": one}, indent=2) + "\n" + one, 2, 0), (json.dumps({"checkpoint": one}) + "\n", 1, 0),
            (anchor_line(one) + one, 2, 0), ("Monday\n" + one, 1, 1), (one + one[:40], 1, 3),
        ]:  # fmt: skip
            done = self.run_on(HEADER, "--json", witness=witness)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["verdict"], "intact", witness)
            self.assertEqual((report["witness_notes"], report["unreadable_witness_lines"]), (notes, unreadable), witness)
        done = self.run_on(HEADER, witness="Monday\n" + one)
        self.assertIn("lines of the witness's file that cannot be read: 1", done.stdout)
        done = self.run_on(HEADER, "--json", witness=note("c", 5))
        self.assertEqual(json.loads(done.stdout)["fault"]["kind"], "witness_size")

    def test_a_witness_of_nothing_is_an_error(self):
        for witness in ["", "garbage\n", note("d"), anchor_line(note("d"))]:
            done = self.run_on(HEADER, witness=witness)
            self.assertEqual((done.returncode, done.stdout), (2, ""), witness)
            self.assertIn("holds no checkpoint of this log, callgate/audit/c", done.stderr)

    def test_bad_arguments_are_told(self):
        self.assertEqual(self.run_on(HEADER, "--key", "no key").returncode, 2)
        self.assertEqual(self.run_on(HEADER, "--witness", "/does/not/exist").returncode, 2)


if __name__ == "__main__":
    unittest.main()
