#!/usr/bin/env bash
# Runs the schema benchmark: bench/schema/run.sh [SCHEMA_BENCH]
# ROUNDS, SLICE_MS and CASES as in bench.mjs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
bench=${1:-$root/build/bench/bin/schema_bench}
[[ -x $bench ]] || {
    echo "run.sh: $bench is missing; build it with: make bench-schema" >&2
    exit 2
}
node=$("$root/tools/node.sh")
export NODE_MODULES_DIR=$root/build/node/node_modules
exec "$node" "$root/bench/schema/bench.mjs" "$bench"
