#!/usr/bin/env bash
# Runs the differential comparison: tests/differential/run.sh [DRIVER]
# PAIRS, SEED, SHOW and CALLGATE_SCHEMA_SUITE as in differential.mjs.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../tools/bench_program.sh"
bench_program differential differential_driver "$@"
export NODE_MODULES_DIR=$root/build/node/node_modules
export CALLGATE_SCHEMA_SUITE=${CALLGATE_SCHEMA_SUITE:-$root/../shared/data/json-schema-test-suite}
exec "$node" "$root/tests/differential/differential.mjs" "$program" "$root/build/differential"
