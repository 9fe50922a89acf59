# Sourced by the scripts that run a program of ours beside Node: bench_program VERB NAME [PROGRAM].
#
# Sets `root`, `program` (PROGRAM, else build/bench/bin/NAME; without it the script ends, and says that `make VERB`
# builds it) and `node`, the Node of tools/node.sh.
# shellcheck shell=bash

bench_program() {
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    program=${3:-$root/build/bench/bin/$2}
    [[ -x $program ]] || {
        echo "run.sh: $program is missing; build it with: make $1" >&2
        exit 2
    }
    node=$("$root/tools/node.sh")
}
