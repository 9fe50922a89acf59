#!/usr/bin/env python3
"""What `make times` makes of the logs of builds."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import times  # noqa: E402


class Times(unittest.TestCase):
    def test_names_the_target_and_the_source_of_an_object(self):
        object_file = "tests/fault/CMakeFiles/crash.dir/lane.cpp.o"
        self.assertEqual(times.target_of(object_file), "crash")
        self.assertEqual(times.source_of(object_file), "tests/fault/lane.cpp")
        self.assertEqual(times.source_of("CMakeFiles/callgate.dir/src/json/text.cpp.o"), "src/json/text.cpp")
        self.assertIsNone(times.source_of("bin/callgate"))
        self.assertEqual(times.target_of("bin/callgate"), "callgate (link)")

    def test_takes_the_last_build_of_an_output(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / ".ninja_log").write_text("# ninja log v5\n0\t1000\t1\ta.o\tx\n5\t505\t1\ta.o\tx\n")
            self.assertEqual(times.ninja_times(Path(folder)), {"a.o": 0.5})

    def test_a_tree_without_a_build_has_no_times(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(times.ninja_times(Path(folder)), {})
            self.assertEqual(times.lanes_of(Path(folder)), [])


if __name__ == "__main__":
    unittest.main()
