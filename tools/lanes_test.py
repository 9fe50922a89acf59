#!/usr/bin/env python3
"""No verb of the Makefile that checks something is left out of `make soak`, and continuous integration runs `make test`."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# They check nothing, or nothing that another verb of soak does not (tsan is a lane of test; newcomer runs and installs).
NOT_IN_SOAK = {"help", "run", "install", "uninstall", "setup", "clean", "format", "picture", "measured", "coverage", "tsan"}


def recipe(makefile, verb):
    return re.search(rf"^{verb}: ##.*\n((?:\t.*\n)+)", makefile, re.M)[1]


def left_out(makefile):
    verbs = set(re.findall(r"^([a-z-]+):.*##", makefile, re.M)) - {"soak"}
    return verbs - NOT_IN_SOAK - set(re.findall(r"^\t@\$\(MAKE\) ([a-z-]+)", recipe(makefile, "soak"), re.M)), NOT_IN_SOAK - verbs


class Lanes(unittest.TestCase):
    MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

    def test_soak_runs_every_verb_that_checks(self):
        self.assertEqual(left_out(self.MAKEFILE), (set(), set()))

    def test_one_that_is_left_out_is_found(self):
        self.assertEqual(left_out(self.MAKEFILE.replace("\t@$(MAKE) walk\n", ""))[0], {"walk"})
        self.assertEqual(left_out(self.MAKEFILE + "\n.PHONY: audit\naudit: ## looks\n\t@true\n")[0], {"audit"})
        self.assertEqual(left_out(self.MAKEFILE.replace("\nformat:", "\nlayout:")), ({"layout"}, {"format"}))

    def test_continuous_integration_runs_all_tests_and_lets_none_be_skipped(self):
        self.assertRegex((ROOT / ".ci/run").read_text(encoding="utf-8"), r"(?m)^CALLGATE_NO_SKIPS=1 exec make test$")


if __name__ == "__main__":
    unittest.main()
