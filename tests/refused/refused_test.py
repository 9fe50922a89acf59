#!/usr/bin/env python3
"""refused_test.py COMPILER INCLUDE SOURCE: the line after a comment `// refused: TEXT` makes the compiler say
TEXT."""
import re
import subprocess
import sys

compiler, include, source = sys.argv[1:]
lines = open(source, encoding="utf-8").read().splitlines()
expected = [(n + 1, m.group(1)) for n, line in enumerate(lines, 1) if (m := re.search(r"// refused: (.*)$", line))]
assert expected, "nothing to refuse"
all_errors = ["-ferror-limit=0"] if "clang" in compiler else []
run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w", *all_errors, "-I", include, source],
                     capture_output=True, text=True, check=False)
failed = run.returncode == 0
for number, text in expected:
    named = re.search(rf"{re.escape(source.rsplit('/', 1)[-1])}:{number}:", run.stderr)
    if text not in run.stderr or not named:
        failed = True
        print(f"{source}:{number}: not refused with: {text}")
if failed:
    print(run.stderr[-8000:])
print(f"RESULT refused={len(expected)} failed={int(failed)}")
sys.exit(failed)
