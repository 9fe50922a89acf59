#!/usr/bin/env bash
# run.sh PROGRAM: the suite's runner over the suite that is at hand.
set -euo pipefail
suite=$("$(dirname "${BASH_SOURCE[0]}")/../../tools/schema_suite_dir.sh")
echo "suite: $suite"
exec "$1" "$suite"
