#!/usr/bin/env bash
# Runs the differential comparison: tests/differential/run.sh [DRIVER]
# PAIRS, SEED, SHOW and CALLGATE_SCHEMA_SUITE as in differential.mjs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
driver=${1:-$root/build/bench/bin/differential_driver}
[[ -x $driver ]] || {
    echo "run.sh: $driver is missing; build it with: make differential" >&2
    exit 2
}
node=$("$root/tools/node.sh")
export NODE_MODULES_DIR=$root/build/node/node_modules
export CALLGATE_SCHEMA_SUITE=${CALLGATE_SCHEMA_SUITE:-$root/../shared/data/json-schema-test-suite}
exec "$node" "$root/tests/differential/differential.mjs" "$driver" "$root/build/differential"
