#!/usr/bin/env bash
# run.sh BUILD_DIR COMPILER [FLAGS...]: install BUILD_DIR to a temporary prefix, use it as a stranger would, and remove it.
#
# FLAGS are those the library was built with, since a sanitized library needs a sanitized program.
set -euo pipefail
export LC_ALL=C.UTF-8
build=$(realpath "$1")
compiler=$2
flags=("${@:3}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install test: $1" >&2
    exit 1
}

"$root/tools/install.sh" install "$build" "$prefix" || fail "the installation failed"

# What belongs there, each at its place; of the man pages one for each verb.
files=(share/callgate/policy.schema.json share/doc/callgate/LICENSE include/callgate/callgate.h)
if [[ -x $prefix/bin/callgate ]]; then
    files+=(share/bash-completion/completions/callgate share/zsh/site-functions/_callgate
        share/fish/vendor_completions.d/callgate.fish share/man/man1/callgate.1)
    while IFS=$'\t' read -r verb _; do
        files+=("share/man/man1/callgate-$verb.1")
    done < <("$prefix/bin/callgate" complete -- "" | tail -n +2)
    ((${#files[@]} > 15)) || fail "the installed program has no verbs"
fi
for file in "${files[@]}"; do [[ -s $prefix/$file ]] || fail "$file is not installed, or empty"; done
cmp "$prefix/share/callgate/policy.schema.json" "$root/docs/policy.schema.json" || fail "the schema is another one"
left_out=$(cd "$prefix" && find . -type f -printf '%P\n' -o -type l -printf '%P\n' | sort | comm -3 - <(sort share/callgate/installed.txt))
[[ -z $left_out ]] || fail "installed.txt does not list what was installed: $left_out"

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

echo "-- a package's DESTDIR, and uninstall"
mkdir -p "$work/package/opt/place/share/man/man1"
echo mine >"$work/package/opt/place/share/man/man1/mine.1"
(cd "$work" && "$root/tools/install.sh" install "$build" /opt/place package) || fail "the installation under DESTDIR failed"
[[ -s $work/package/opt/place/include/callgate/callgate.h && ! -e /opt/place ]] || fail "DESTDIR was not heeded"
# What an earlier version had goes with the next.
mkdir -p "$work/package/opt/place/include/callgate/old"
touch "$work/package/opt/place/include/callgate/old/gone.h"
echo include/callgate/old/gone.h >>"$work/package/opt/place/share/callgate/installed.txt"
"$root/tools/install.sh" install "$build" /opt/place "$work/package" || fail "installing over an installation failed"
[[ ! -e $work/package/opt/place/include/callgate/old ]] || fail "a file of an earlier version stayed"
"$root/tools/install.sh" uninstall /opt/place "$work/package" || fail "uninstall failed"
[[ $(cd "$work/package" && find . -type f -o -type l) == ./opt/place/share/man/man1/mine.1 ]] ||
    fail "uninstall left something, or removed what is not ours: $(find "$work/package" -type f)"
[[ -z $(find "$work/package" -name '*callgate*') ]] || fail "uninstall left a folder of ours"
if "$root/tools/install.sh" uninstall /opt/place "$work/package" 2>"$work/again"; then fail "nothing was there to remove"; fi
grep -q 'nothing of Callgate is installed' "$work/again" || fail "a second uninstall does not say why: $(<"$work/again")"

# A list that leads out of the prefix removes nothing.
mkdir -p "$work/odd/share/callgate"
touch "$work/precious" "$work/odd/a"
for bad in ../precious "$work/precious" share/../../precious; do
    printf 'a\n%s\n' "$bad" >"$work/odd/share/callgate/installed.txt"
    if "$root/tools/install.sh" uninstall "$work/odd" 2>"$work/odd.log"; then fail "$bad was removed"; fi
    [[ -e $work/precious && -e $work/odd/a ]] || fail "a damaged list removed a file"
done
