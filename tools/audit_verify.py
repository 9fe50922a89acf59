#!/usr/bin/env python3
"""Verifies an exported audit log of Callgate, independently: plain Python, nothing but the standard library.

    audit_verify.py [--key VKEY]... [--chain ID] [--witness FILE] [--json] EXPORT.jsonl
    audit_verify.py --batch DIRECTORY

The format is docs/formats/audit.md; this program was written from that page and shares no code with the library.
It says `intact`, `unwitnessed` (intact as far as can be told without a witness) or `broken` with the first bad
record and why, and ends with 0, 0 and 1; 2 if it could not read its input, or the witness's file holds no checkpoint of
this log. With --json the report is one JSON line.
--batch verifies every X.audit.jsonl of a directory, with X.witness.jsonl and the keys in X.keys (one to a line)
where they are there, and prints one JSON line for each.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import re
import sys

MAX_INTEGER, MAX_TEXT, MAX_PAYLOADS, MAX_LINE = 2**53 - 1, 4096, 32, 64 << 20
MAX_NOTE, MAX_SIGNATURES, MAX_PATH = 16384, 16, 64

# Members of an event. Texts may be spelled NAME_hex, words may not.
WORDS = {"autonomy", "boot", "chain", "risk", "type"}
TEXTS = {
    "action", "approval", "connector", "error", "key", "old_key", "outcome", "principal", "request", "run", "stage",
    "step", "task", "tenant", "tool", "trace",
}  # fmt: skip
NUMBERS = {"attempt": 1, "has_key": 1, "latency_ns": 1, "mono": 0, "seq": 1, "time": 0, "v": 1}  # the least of each
IDS = {"call", "parent"}
REQUIRED = WORDS | {"mono", "seq", "time", "v"}

FIELD = re.compile(r"[a-z][a-z0-9_]{0,31}")
CHAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
KEY_NAME = re.compile(r"[!-*,-~]{1,128}")  # printable, neither space nor +
DIGEST = re.compile(r"[0-9a-f]{64}")
SALT = re.compile(r"[0-9a-f]{32}")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HEX = re.compile(r"([0-9a-f]{2})+")


class Fault(Exception):
    """The first thing that is wrong."""

    def __init__(self, kind, sequence, sentence):
        super().__init__(sentence)
        self.kind, self.sequence, self.sentence = kind, sequence, sentence


def need(holds, why):
    if not holds:
        raise ValueError(why)


# Ed25519 (RFC 8032), verification only.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)  # extended coordinates X, Y, Z, T


def point_add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def point_decode(raw):
    """The point that 32 bytes stand for, or None."""
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P != 0:
        x = x * SQRT_M1 % P
    if (v * x * x - u) % P != 0 or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def point_encode(p):
    inverse = pow(p[2], P - 2, P)
    return (p[1] * inverse % P | (p[0] * inverse % P & 1) << 255).to_bytes(32, "little")


BASE = point_decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_verify(public, message, signature):
    a = point_decode(public)
    s = int.from_bytes(signature[32:], "little")
    if a is None or len(signature) != 64 or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    minus_a = (P - a[0], a[1], 1, P - a[3])
    both = point_add(BASE, minus_a)
    result = IDENTITY  # [s]B - [k]A, bit by bit from the top
    for bit in range(max(s.bit_length(), k.bit_length()) - 1, -1, -1):
        result = point_add(result, result)
        which = (s >> bit & 1) | (k >> bit & 1) << 1
        if which:
            result = point_add(result, (None, BASE, minus_a, both)[which])
    return point_encode(result) == signature[:32]


# Keys and checkpoints are C2SP signed notes.


def decode_base64(text):
    """The bytes, or None: one text stands for one byte string only."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        return None
    return raw if base64.b64encode(raw).decode() == text else None


class Key:
    def __init__(self, vkey):
        parts = vkey.split("+", 2)
        raw = decode_base64(parts[2]) if len(parts) == 3 else None
        need(raw and len(raw) == 33 and raw[0] == 1 and KEY_NAME.fullmatch(parts[0]), f"{vkey!r} is no public key")
        self.vkey, self.name, self.public = vkey, parts[0], raw[1:]
        self.id = hashlib.sha256(self.name.encode() + b"\n" + raw).digest()[:4]
        need(self.id.hex() == parts[1], f"{vkey!r} is no public key")


class Note:
    """A signed checkpoint."""

    checked = {}  # of the signatures that were verified already: notes often come twice, from log and witness

    def __init__(self, text):
        lines = text.split("\n")
        need(len(text.encode()) <= MAX_NOTE and len(lines) >= 6 and lines[-1] == lines[3] == "", "it has other lines")
        self.origin, size, root = lines[:3]
        need(KEY_NAME.fullmatch(self.origin), "line 1 is no origin")
        need(re.fullmatch(r"0|[1-9][0-9]{0,15}", size) and int(size) <= MAX_INTEGER, "line 2 is no size")
        self.size, self.root = int(size), decode_base64(root)
        need(self.root and len(self.root) == 32, "line 3 is no root")
        self.body = "\n".join(lines[:3]).encode() + b"\n"
        self.signatures = []
        for line in lines[4:-1]:
            name, space, blob = line.removeprefix("\u2014 ").partition(" ")
            raw = decode_base64(blob)
            need(line.startswith("\u2014 ") and space and KEY_NAME.fullmatch(name), "a signature line is none")
            need(raw and 4 < len(raw) <= 516, "a signature line is none")
            self.signatures.append((name, raw[:4], raw[4:]))
        need(len(self.signatures) <= MAX_SIGNATURES, "it has too many signatures")

    def signed_by(self, key):
        for name, key_id, signature in self.signatures:
            if name == key.name and key_id == key.id and len(signature) == 64:
                what = (key.public, self.body, signature)
                if what not in Note.checked:
                    Note.checked[what] = ed25519_verify(*what)
                if Note.checked[what]:
                    return True
        return False


class Tree:
    """The roots of the complete subtrees that a log consists of, the largest first."""

    def __init__(self):
        self.size = 0
        self.peaks = []

    @staticmethod
    def after(size, event_hash, path):
        """The tree of a log from the proof that its last event is the last; None if the proof has another length."""
        lowest = (size & -size).bit_length() - 1
        if len(path) != lowest + bin(size).count("1") - 1:
            return None
        node = hashlib.sha256(b"\x00" + event_hash).digest()
        for step in path[:lowest]:
            node = hashlib.sha256(b"\x01" + step + node).digest()
        tree = Tree()
        tree.size, tree.peaks = size, [*reversed(path[lowest:]), node]
        return tree

    def push(self, event_hash):
        node = hashlib.sha256(b"\x00" + event_hash).digest()
        size = self.size
        while size & 1:
            node = hashlib.sha256(b"\x01" + self.peaks.pop() + node).digest()
            size >>= 1
        self.peaks.append(node)
        self.size += 1

    def root(self):
        if not self.peaks:
            return hashlib.sha256(b"").digest()
        node = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            node = hashlib.sha256(b"\x01" + peak + node).digest()
        return node


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def parse_canonical(line):
    """The object that a line of canonical JSON says; ValueError for any other line."""
    try:
        value = json.loads(line.decode("utf-8"))
        if not isinstance(value, dict) or canonical(value) != line:
            raise ValueError("this is not canonical JSON")
    except RecursionError as error:
        raise ValueError("this is nested too deeply") from error
    return value


def hex_bytes(text):
    """What a text in hexadecimal says, which must be something that could not be said as text."""
    need(isinstance(text, str) and HEX.fullmatch(text), "pairs of hexadecimal digits were expected")
    raw = bytes.fromhex(text)
    need(raw.decode("utf-8", "ignore").encode() != raw, "text that is UTF-8 is not spelled in hexadecimal")
    return raw


def check_event(event):
    """ValueError unless it is an event of version 1."""
    need(isinstance(event, dict), "an event is an object")
    for name, value in event.items():
        plain = name.removesuffix("_hex")
        if name in WORDS or name in TEXTS:
            need(isinstance(value, str) and 0 < len(value.encode("utf-8")) <= MAX_TEXT, f"{name} is no text")
        elif name in NUMBERS:
            need(type(value) is int and NUMBERS[name] <= value <= MAX_INTEGER, f"{name} is no number")
        elif name in IDS:
            need(isinstance(value, str) and UUID.fullmatch(value) and value.strip("0-"), f"{name} is no id")
        elif name == "commits":
            need(isinstance(value, dict) and 0 < len(value) <= MAX_PAYLOADS, "commits is no object")
            for field, digest in value.items():
                need(FIELD.fullmatch(field), "a payload's field has a bad name")
                need(isinstance(digest, str) and DIGEST.fullmatch(digest), "a commitment is no hash")
        else:
            need(plain != name and plain in TEXTS and plain not in event, f"an event has no member {name}")
            need(len(hex_bytes(value)) <= MAX_TEXT, f"{name} is too long")
    need(REQUIRED <= event.keys(), "the event lacks a member it must have")
    need(event["v"] == 1, "this version is not known")
    need(event.get("has_key", 1) == 1, "has_key is 1 or left out")


def read_event_line(value):
    """(event, its bytes, its hash, {field: (salt, payload)})."""
    need(value.keys() - {"payloads"} == {"event", "hash"}, "this is no line of an audit export")
    check_event(value["event"])
    need(isinstance(value["hash"], str) and DIGEST.fullmatch(value["hash"]), "the hash is none")
    payloads = {}
    if "payloads" in value:
        need(isinstance(value["payloads"], dict) and 0 < len(value["payloads"]) <= MAX_PAYLOADS, "payloads is no object")
        for field, payload in value["payloads"].items():
            need(FIELD.fullmatch(field) and isinstance(payload, dict), "a payload is none")
            need(payload.keys() in ({"hex", "salt"}, {"salt", "text"}, {"salt", "sealed"}), "a payload is none")
            need(isinstance(payload["salt"], str) and SALT.fullmatch(payload["salt"]), "a salt is none")
            if "sealed" in payload:
                need(isinstance(payload["sealed"], str) and payload["sealed"], "a payload's seal is none")
                try:
                    sealed = base64.b64decode(payload["sealed"], validate=True)
                except ValueError as error:
                    raise ValueError("a payload's seal is none") from error
                need(base64.b64encode(sealed).decode() == payload["sealed"], "a payload's seal is none")
                content = None  # only who has the ledger's key can look into it
            elif "hex" in payload:
                content = hex_bytes(payload["hex"])
            else:
                need(isinstance(payload["text"], str) and payload["text"], "a payload's text is none")
                content = payload["text"].encode("utf-8")
            payloads[field] = (bytes.fromhex(payload["salt"]), content)
    return value["event"], canonical(value["event"]), bytes.fromhex(value["hash"]), payloads


def read_header(value):
    """(chain, signed head or None)."""
    need(value.keys() - {"after"} == {"callgate_audit", "chain"} and type(value["callgate_audit"]) is int
         and value["callgate_audit"] == 1 and isinstance(value["chain"], str)
         and CHAIN_ID.fullmatch(value["chain"]), "it does not say that this is an audit export")  # fmt: skip
    after = value.get("after")
    if "after" in value:
        need(isinstance(after, dict) and after.keys() == {"checkpoint", "hash", "key", "path"}, "its head is none")
        need(isinstance(after["checkpoint"], str) and isinstance(after["key"], str), "its head is none")
        need(isinstance(after["path"], list) and len(after["path"]) <= MAX_PATH, "its head's path is none")
        for digest in (after["hash"], *after["path"]):
            need(isinstance(digest, str) and DIGEST.fullmatch(digest), "its head has a hash that is none")
    return value["chain"], after


def checkpoint_of_line(value):
    need(value.keys() == {"checkpoint"} and isinstance(value["checkpoint"], str), "this is no checkpoint line")
    return value["checkpoint"]


def printed_as_json(line):
    """[note] of a line of what `callgate audit checkpoint --json` prints, or of all of it as one line."""
    text = line.strip(b" ")
    try:
        value = json.loads(text if text.startswith(b"{") else b"{" + text + b"}")
        note = checkpoint_of_line(value) if isinstance(value, dict) else ""
        Note(note)
        return [note]
    except (ValueError, RecursionError):
        return []


def read_witness(path):
    """(notes, the number of lines that belong to none): an anchor file's lines, and notes as they are."""
    *lines, rest = path.read_bytes().split(b"\n")
    notes, unreadable, at = [], int(rest != b""), 0
    while at < len(lines):
        end = at + 4
        while end < len(lines) and lines[end].startswith("\u2014 ".encode()):
            end += 1
        try:
            need(lines[at + 3 : at + 4] == [b""] and end > at + 4, "this is no note")
            text = b"".join(line + b"\n" for line in lines[at:end]).decode("utf-8")
            Note(text)
            notes.append(text)
            at = end
            continue
        except ValueError:
            pass
        try:
            if lines[at]:
                notes.append(checkpoint_of_line(parse_canonical(lines[at])))
        except ValueError:
            printed = printed_as_json(lines[at])
            notes += printed
            unreadable += not printed and lines[at] not in (b"{", b"}")
        at += 1
    return notes, unreadable


class Verifier:
    def __init__(self, keys=(), witness=((), 0), chain=None):
        self.pinned, self.trusted = bool(keys), {key.vkey for key in keys}
        self.witness_texts, self.witnessed = list(witness[0]), []
        self.expected_chain, self.chain, self.origin = chain, None, None
        self.tree, self.last_hash = Tree(), b""
        self.in_force = self.handing_over = None
        self.any_trusted, self.untrusted = False, None
        self.counts = dict.fromkeys(
            ["checkpoints", "signed_events", "witness_notes", "compared_notes", "witnessed_events", "payloads", "erased_payloads",
             "sealed_payloads", "clock_steps_back", "boots", "after"], 0)  # fmt: skip
        self.counts["unreadable_witness_lines"] = witness[1]
        self.last_time, self.last_boot, self.open = 0, None, {}

    def begin(self, chain):
        self.chain = self.expected_chain or chain
        self.origin = "callgate/audit/" + self.chain
        self.last_hash = hashlib.sha256(b"callgate-audit-v1" + self.chain.encode()).digest()
        for text in self.witness_texts:
            try:
                note = Note(text)
            except ValueError as error:
                raise Fault("witness", 0, f"A note of the witness cannot be read: {error}.") from error
            if note.origin == self.origin:
                self.witnessed.append((note.size, note.root))
        self.counts["witness_notes"] = len(self.witnessed)
        self.witnessed.sort(key=lambda seen: seen[0])
        self.witnessed.reverse()  # the next one last
        self.check_chain(chain)

    def check_chain(self, chain):
        if chain != self.chain:
            number = self.tree.size + 1
            raise Fault("chain", number, f"Event {number} is of the chain {chain}, not of {self.chain}.")

    def go_on_after(self, head):
        """The log goes on after events that are archived elsewhere, or that stood in the file before."""
        try:
            note = Note(head["checkpoint"])
            need(note.size > 0, "it is of an empty log")
        except ValueError as error:
            raise Fault("checkpoint", self.tree.size, f"The head to go on after cannot be read: {error}.") from error
        size = note.size
        if note.origin != self.origin:
            raise Fault("checkpoint", size, f"The head to go on after is of another log, {note.origin}.")
        last = bytes.fromhex(head["hash"])
        if self.tree.size:
            if (size, last, note.root) != (self.tree.size, self.last_hash, self.tree.root()):
                raise Fault("sequence", self.tree.size + 1,
                            f"This goes on after event {size}, but {self.tree.size} stand before it.")  # fmt: skip
            return
        try:
            key = Key(head["key"])
            need(key.name == self.origin, "it is not a key of this log")
        except ValueError as error:
            raise Fault("key", size, f"The head to go on after names a key that is none: {error}.") from error
        tree = Tree.after(size, last, [bytes.fromhex(step) for step in head["path"]])
        if tree is None or tree.root() != note.root:
            raise Fault("root", size, f"The head to go on after is not that of the {size} events that were signed.")
        if not note.signed_by(key):
            raise Fault("signature", size, f"The head to go on after is not signed by {key.vkey}.")
        self.tree, self.last_hash, self.in_force = tree, last, key
        if key.vkey in self.trusted:
            self.any_trusted = True
        else:
            self.untrusted = size
        self.counts["after"] = self.counts["signed_events"] = size
        while self.witnessed and self.witnessed[-1][0] < size:
            self.witnessed.pop()  # what it saw is archived

    def check_witness(self):
        while self.witnessed and self.witnessed[-1][0] == self.tree.size:
            if self.witnessed.pop()[1] != self.tree.root():
                raise Fault("witness_root", self.tree.size,
                            f"The witness saw other events up to event {self.tree.size} than this log has.")  # fmt: skip
            self.counts["witnessed_events"] = self.tree.size
            self.counts["compared_notes"] += 1

    def event(self, event, raw, stored_hash, payloads):
        self.check_witness()  # only now, after the log's own checkpoints of this size
        self.check_chain(event["chain"])
        number = self.tree.size + 1
        if event["seq"] != number:
            raise Fault("sequence", number, f"Event {number} was expected, but event {event['seq']} stands there.")
        computed = hashlib.sha256(b"\x01" + self.last_hash + raw).digest()
        if computed != stored_hash:
            raise Fault("hash", number, f"The hash of event {number} is not that of its bytes and the event before.")
        self.check_payloads(number, event.get("commits", {}), payloads)
        self.check_key_event(number, event)
        self.take_notes(number, event)
        self.last_hash = computed
        self.tree.push(computed)

    def check_payloads(self, number, commits, payloads):
        for field, (salt, content) in payloads.items():
            self.counts["sealed_payloads"] += content is None
            known = commits.get(field)
            if content is not None and known != hashlib.sha256(b"callgate-commit-v1" + salt + content).hexdigest():
                known = None
            if known is None:
                raise Fault("payload", number, f'The payload "{field}" of event {number} is not the recorded one.')
        self.counts["payloads"] += len(payloads)
        self.counts["erased_payloads"] += len(commits) - len(payloads)

    def check_key_event(self, number, event):
        opened, rotated = event["type"] == "audit.opened", event["type"] == "audit.key_rotated"
        names = {"key", "key_hex", "old_key", "old_key_hex"} & event.keys()
        if not opened and not rotated and not names:
            return
        now = self.in_force.vkey if self.in_force else None
        if opened and not names - {"key"} and event.get("key") == now:
            return  # every run begins with the key in force
        try:
            need(rotated or opened and not self.in_force and names == {"key"}, "only these name keys")
            need(event.get("old_key") == now and "old_key_hex" not in event, "the old key is not the one in force")
            need(not self.handing_over, "the key before was never handed over to by a checkpoint")
            key = Key(event.get("key", ""))
            need(key.name == self.origin, "the new key is not a key of this log")
        except ValueError as error:
            raise Fault("key", number, f"Event {number} changes the key against the rules: {error}.") from error
        self.handing_over, self.in_force = self.in_force, key

    def take_notes(self, number, event):
        if event["boot"] != self.last_boot:
            self.counts["boots"] += 1
            self.last_boot = event["boot"]
        # Events of callers that run at the same time come a little out of order.
        back = event["time"] + 60_000_000 < self.last_time
        self.counts["clock_steps_back"] += back
        self.last_time = event["time"] if back else max(self.last_time, event["time"])
        if "call" in event:
            kind = event["type"]
            if kind == "tool_call.attempted":
                self.open[event["call"]] = number
            elif (kind.startswith("tool_call.") and kind != "tool_call.taken_over" or kind == "audit.gap"
                  or event.get("stage") == "settle"):  # fmt: skip
                self.open.pop(event["call"], None)

    def checkpoint(self, text):
        number, size = self.counts["checkpoints"] + 1, self.tree.size
        try:
            note = Note(text)
        except ValueError as error:
            raise Fault("checkpoint", size, f"Checkpoint {number} cannot be read: {error}.") from error
        if note.origin != self.origin:
            raise Fault("checkpoint", size, f"Checkpoint {number} is of another log, {note.origin}.")
        if note.size != size:
            raise Fault("checkpoint_size", size,
                        f"Checkpoint {number} is of a log with {note.size} events, but {size} stand before it.")  # fmt: skip
        if note.root != self.tree.root():
            first = self.counts["signed_events"] + 1
            raise Fault("root", size, f"Checkpoint {number} was signed for other events: see events {first} to {size}.")
        if self.in_force is None:
            raise Fault("signature", size, f"Checkpoint {number} is signed, but no event before it names a key.")
        signers = [key for key in (self.in_force, self.handing_over) if key]
        for key in signers:
            if not note.signed_by(key):
                raise Fault("signature", size, f"Checkpoint {number} is not signed by {key.vkey}, which had to sign it.")
        if any(key.vkey in self.trusted for key in signers):
            self.trusted.add(self.in_force.vkey)
            self.any_trusted, self.untrusted = True, None
        elif self.untrusted is None:
            self.untrusted = size
        self.handing_over = None
        self.counts["checkpoints"], self.counts["signed_events"] = number, size

    def end(self):
        self.check_witness()
        size = self.tree.size
        if self.witnessed:
            raise Fault("witness_size", size,
                        f"The witness saw {self.witnessed[0][0]} events, but the log has only {size}: its end was cut.")  # fmt: skip
        if self.pinned and size > 0 and (not self.any_trusted or self.untrusted is not None):
            raise Fault("key", size if self.untrusted is None else self.untrusted,
                        "No pinned key stands behind the last checkpoint of this log.")  # fmt: skip

    def lines(self, file):
        """Takes in a whole export."""
        number = 0
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 2), b""), 1):
            try:
                need(line.endswith(b"\n") and len(line) <= MAX_LINE + 1, "the line does not end, or is too long")
                value = parse_canonical(line[:-1])
                if number == 1:
                    chain, after = read_header(value)
                elif "checkpoint" in value:
                    checkpoint_of_line(value)
                else:
                    value = read_event_line(value)
            except ValueError as error:
                raise Fault("malformed", self.tree.size + 1, f"Line {number}: {error}.") from error
            if number == 1:
                if self.chain is None:
                    self.begin(chain)
                else:
                    self.check_chain(chain)
                if after is not None:
                    self.go_on_after(after)
                elif self.tree.size:
                    raise Fault("sequence", self.tree.size + 1, "This file begins the log anew.")
            elif isinstance(value, dict):
                self.checkpoint(value["checkpoint"])
            else:
                self.event(*value)
        if number == 0:
            raise Fault("malformed", self.tree.size + 1, "The export is empty.")

    def verify(self, *paths):
        """The report, as the library gives it. Several files: segments, each going on where the last ended."""
        fault = None
        try:
            for path in paths:
                with open(path, "rb") as file:
                    self.lines(file)
            self.end()
        except Fault as found:
            fault = {"kind": found.kind, "sequence": found.sequence, "sentence": found.sentence}
        verdict = "broken" if fault else "intact" if self.counts["compared_notes"] else "unwitnessed"
        report = {"verdict": verdict, "chain": self.chain or "", "events": self.tree.size, **self.counts,
                  "unsigned_events": self.tree.size - self.counts["signed_events"], "open_calls": len(self.open),
                  "key": self.in_force.vkey if self.in_force else "", "pinned": self.pinned}  # fmt: skip
        return {**report, "fault": fault} if fault else report


def verify_batch(directory):
    for log in sorted(directory.glob("*.audit.jsonl")):
        name = log.name.removesuffix(".audit.jsonl")
        keys, witness = directory / f"{name}.keys", directory / f"{name}.witness.jsonl"
        pinned = [Key(line) for line in keys.read_text().split()] if keys.exists() else []
        kept = read_witness(witness) if witness.exists() else ((), 0)
        print(json.dumps({"log": name, **Verifier(pinned, kept).verify(log)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("export", type=pathlib.Path, nargs="*",
                        help="a log that `callgate audit export` wrote; before it its segments, oldest first")  # fmt: skip
    parser.add_argument("--key", action="append", default=[], help="a public key (vkey) that you trust")
    parser.add_argument("--chain", help="the chain that this has to be")
    parser.add_argument("--witness", type=pathlib.Path, help="an anchor file, or what `callgate audit checkpoint` printed")
    parser.add_argument("--json", action="store_true", help="the report as one JSON line")
    parser.add_argument("--batch", type=pathlib.Path, metavar="DIRECTORY", help="all logs of a directory")
    options = parser.parse_args()
    if (not options.export) == (options.batch is None):
        parser.error("name one export, or a directory with --batch")
    try:
        if options.batch:
            return verify_batch(options.batch)
        keys = [Key(text) for text in options.key]
        kept = read_witness(options.witness) if options.witness else ((), 0)
        report = Verifier(keys, kept, options.chain).verify(*options.export)
        if report["witness_notes"] and report["verdict"] == "unwitnessed":
            raise ValueError(f"what {options.witness} saw is only of the first {report['after']} events, which were archived "
                             "since: nothing was compared. Give their segments, too.")  # fmt: skip
        if options.witness and report["verdict"] == "unwitnessed":
            raise ValueError(f"{options.witness} holds no checkpoint of this log, callgate/audit/{report['chain']} "
                             f"(checkpoints of others: {len(kept[0])}, lines that cannot be read: {kept[1]})")  # fmt: skip
    except (OSError, ValueError) as error:
        print(f"audit_verify.py: {error}", file=sys.stderr)
        return 2
    unread = "; lines of the witness's file that cannot be read: {}".format(kept[1]) if kept[1] else ""
    if options.json:
        print(json.dumps(report))
    elif "fault" in report:
        print("BROKEN at {sequence} ({kind}): {sentence}".format(**report["fault"]) + unread)
    else:
        print("{verdict}: {events} events, {signed_events} of them signed, {witnessed_events} witnessed; {open_calls} "
              "calls without an end; keys pinned: {pinned}".format(**report) + unread)  # fmt: skip
    return 1 if "fault" in report else 0


if __name__ == "__main__":
    sys.exit(main())
