#!/usr/bin/env bash
# Runs the call benchmark: bench/call/run.sh [CALL_BENCH]. ROUNDS and SLICE_MS as in bench.mjs.
#
# The peers come from npm, by bench/call/peers/package-lock.json, into build/peers. Where ../shared has the reference
# floor, it is built and measured in the same run.
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/../../tools/bench_program.sh"
bench_program bench-call call_bench "$@"

peers=$root/build/peers
if ! cmp -s "$root/bench/call/peers/package-lock.json" "$peers/installed-lock.json"; then
    echo "run.sh: installing the peers from npm into build/peers" >&2
    mkdir -p "$peers"
    rm -f "$peers/installed-lock.json"
    cp "$root"/bench/call/peers/{package.json,package-lock.json,.npmrc} "$peers/"
    # With the Node they will run on: npm leaves out optional packages that are too new for its own.
    (cd "$peers" && PATH=$(dirname "$node"):$PATH npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    cp "$peers/package-lock.json" "$peers/installed-lock.json"
fi

reference=$root/../shared/peer-bench/c/inproc.cpp
inproc=()
if [[ -f $reference ]]; then
    floor=$root/build/bench/bin/reference_floor
    [[ $floor -nt $reference ]] || g++ -std=c++20 -O2 -w "$reference" -o "$floor" -pthread
    inproc=("$floor")
fi

PEERS_DIR=$peers exec "$node" "$root/bench/call/bench.mjs" "$program" "${inproc[@]}"
