#!/usr/bin/env bash
# Runs the schema benchmark: bench/schema/run.sh [SCHEMA_BENCH]
# ROUNDS, SLICE_MS and CASES as in bench.mjs.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../tools/bench_program.sh"
bench_program bench-schema schema_bench "$@"
export NODE_MODULES_DIR=$root/build/node/node_modules
exec "$node" "$root/bench/schema/bench.mjs" "$program"
