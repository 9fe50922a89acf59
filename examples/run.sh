#!/usr/bin/env bash
# run.sh PROGRAM EXPECTED: the example succeeds and prints exactly what the file EXPECTED holds.
set -euo pipefail
diff -u "$2" <("$1" || echo "the example failed with exit code $?")
