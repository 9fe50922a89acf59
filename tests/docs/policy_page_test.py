#!/usr/bin/env python3
"""docs/guide/policy.md describes every key of docs/policy.schema.json, and none that the schema does not know."""
import copy
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guide/policy.md").read_text(encoding="utf-8")
SCHEMA = json.loads((ROOT / "docs/policy.schema.json").read_text(encoding="utf-8"))

# Where the keys of an object stand: the section, and in it the first column of its table, the head of its table, or
# the sentences before the table.
PLACES = {
    "": ("Top level", "column"),
    "rule": ("Rules", "column"),
    "window": ("Time windows", "column"),
    "limits": ("Limits", "sentences"),
    "use": ("Limits", "column"),
    "matrix": ("Matrix", "column"),
    "row": ("Matrix", "head"),
}


def section(page, title):
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return found[1] if found else ""


def rows(text):
    """The cells of the first table, its head first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if set(line) - set("|-: ")]


def keys_on(page, place):
    title, where = place
    text = section(page, title)
    table = rows(text)
    if where == "sentences":
        # `limits` has `a`, `b` …, and `c`: up to the first value that is no key.
        return set(re.findall(r"`(\w+)`", text.split("\n|")[0])) - {"limits"}
    if where == "head":
        return set(table[0][1:]) if table else set()
    return {key for row in table[1:] for key in re.findall(r"\w+", row[0])}


def objects(schema):
    """name → the members of an object of the document. One that stands in another has its key's name."""
    found = {"": schema["properties"]}
    for name, part in (*schema["properties"].items(), *schema["$defs"].items()):
        if "properties" in part:
            found[name] = part["properties"]
    return found


def faults(page, schema):
    all_objects = objects(schema)
    for name in all_objects.keys() ^ PLACES.keys():
        yield f"the object '{name}' of the schema has no place on the page that this test knows, or is gone"
    for name in all_objects.keys() & PLACES.keys():
        known, described = set(all_objects[name]), keys_on(page, PLACES[name])
        for key in sorted(known - described):
            yield f"'{key}' of '{name}' is not described under '{PLACES[name][0]}'"
        for key in sorted(described - known):
            yield f"the schema knows no '{key}' of '{name}', and '{PLACES[name][0]}' describes it"


class PolicyPage(unittest.TestCase):
    def test_has_every_key_of_the_schema_and_no_other(self):
        self.assertEqual(sorted(faults(PAGE, SCHEMA)), [])

    def test_a_key_that_is_not_described_is_found_wherever_it_is(self):
        for name in PLACES:
            schema = copy.deepcopy(SCHEMA)
            objects(schema)[name]["planted"] = {}
            self.assertEqual(list(faults(PAGE, schema)), [f"'planted' of '{name}' is not described under '{PLACES[name][0]}'"])

    def test_a_key_that_is_described_and_not_there_is_found(self):
        for there, planted in (("| `limits` |", "| `limit` |"), ("| `id` |", "| `idd` |"), ("| `zone` |", "| `zones` |"),
                               ("`loop_repeats` (5)", "`loops` (5)"), ("| `queue` |", "| `queued` |"), ("| A4 |", "| A5 |"),
                               ("| high |", "| higher |")):
            self.assertEqual(PAGE.count(there), 1, there)
            self.assertEqual(len(list(faults(PAGE.replace(there, planted), SCHEMA))), 2, there)

    def test_an_object_that_is_new_is_found(self):
        schema = copy.deepcopy(SCHEMA)
        schema["$defs"]["planted"] = {"properties": {}}
        self.assertEqual(len(list(faults(PAGE, schema))), 1)


if __name__ == "__main__":
    unittest.main()
