#!/usr/bin/env bash
# run.sh PROGRAM: the suite's runner over the suite that is at hand.
set -euo pipefail
# 77 tells ctest that the test was skipped; schema_suite_dir.sh has said why.
suite=$("$(dirname "${BASH_SOURCE[0]}")/../../tools/schema_suite_dir.sh") || exit 77
echo "suite: $suite"
exec "$1" "$suite"
