#!/usr/bin/env bash
# run.sh BUILD_DIR COMPILER [FLAGS...]: install BUILD_DIR to a temporary prefix and use it as a stranger would.
#
# FLAGS are those the library was built with, since a sanitized library needs a sanitized program.
set -euo pipefail
build=$1
compiler=$2
flags=("${@:3}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install test: $1" >&2
    exit 1
}

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "the installation failed"; }

[[ $(ls "$prefix/include") == callgate ]] || fail "more than include/callgate was installed: $(ls "$prefix/include")"
private=$(find "$prefix/include" -type f ! -name '*.h')
[[ -z $private ]] || fail "these are no public headers: $private"

# Moved once, so that a path of the first place left in the package files shows.
mv "$prefix" "$work/moved"
prefix=$work/moved
library=$(dirname "$(find "$prefix" -name 'libcallgate.*' -print -quit)")
export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

echo "-- find_package(callgate)"
cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="${flags[*]}" >"$work/configure.log" || { cat "$work/configure.log"; fail "find_package failed"; }
cmake --build "$work/consumer" || fail "the program did not build with find_package"
"$work/consumer/consumer" || fail "the program built with find_package failed"

echo "-- pkg-config callgate"
export PKG_CONFIG_PATH=$library/pkgconfig
read -r -d '' -a options < <(pkg-config --cflags --libs callgate) || true
((${#options[@]})) || fail "pkg-config does not know callgate"
"$compiler" -std=c++20 "${flags[@]}" "$here/consumer/main.cpp" "${options[@]}" -o "$work/by_pkg_config" ||
    fail "the program did not build with pkg-config"
"$work/by_pkg_config" || fail "the program built with pkg-config failed"
