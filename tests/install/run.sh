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
files=(share/callgate/policy.schema.json share/doc/callgate/LICENSE include/callgate/{callgate,mcp}.h)
library=$(dirname "$(find "$prefix" -name 'libcallgate.*' -print -quit)")
for name in callgate callgate-mcp; do
    files+=("${library#"$prefix/"}/pkgconfig/$name.pc")
    [[ $(find "$library" -name "lib$name.*" -print -quit) ]] || fail "lib$name is not installed"
done
paths=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH=$library$paths # for the program, where the libraries are shared
if [[ -x $prefix/bin/callgate ]]; then
    files+=(libexec/callgate-launch share/bash-completion/completions/callgate share/zsh/site-functions/_callgate
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
library=$prefix/${library#"$work/prefix/"}
export LD_LIBRARY_PATH=$library$paths PKG_CONFIG_PATH=$library/pkgconfig

# check PART PROGRAM: it works; one of core needs no libssl, itself or through another library, one of mcp does. The linker
# drops no library that it is given (no --as-needed), so what a package names without need is seen as well.
check() {
    local tls
    "$2" || fail "$2 failed"
    ldd "$2" >"$work/ldd" || fail "ldd cannot read $2"
    grep -q 'libcrypto\.so' "$work/ldd" || fail "ldd does not see libcrypto in $2: $(<"$work/ldd")"
    tls=$(grep 'libssl\.so' "$work/ldd" || true)
    if [[ $1 == core ]]; then
        [[ -z $tls ]] || fail "$2 links core only, and needs TLS: $tls"
    elif [[ -f $library/libcallgate-mcp.a ]]; then # a shared one is linked with what it uses
        [[ $tls ]] || fail "$2 links mcp, and ldd does not see libssl in it: $(<"$work/ldd")"
    fi
}

# configure PART [OPTIONS...]: by find_package, in $work/PART; what was said is in $work/PART.log.
configure() {
    cmake -S "$here/$1" -B "$work/$1" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_CXX_FLAGS="${flags[*]}" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed -DARGUMENTS= \
        "${@:2}" >"$work/$1.log" 2>&1
}
found() { configure "$@" || fail "find_package failed, ${*:2}: $(<"$work/$1.log")"; }
refused() {
    if configure "${@:2}"; then fail "find_package did not fail, ${*:3}"; fi
    tr -s ' \n' ' ' <"$work/$2.log" | grep -qF "$1" || fail "find_package does not say '$1': $(<"$work/$2.log")"
}
has_mcp() { grep -q 'callgate::mcp is there' "$work/core.log"; }

for part in core mcp; do
    echo "-- find_package: $part"
    found "$part"
    cmake --build "$work/$part" || fail "the program of $part did not build with find_package"
    check "$part" "$work/$part/$part"
done
check core "$work/core/earlier"

echo "-- find_package: what is asked for, and no more"
found core
if has_mcp; then fail "mcp came with core"; fi
found core -DARGUMENTS="OPTIONAL_COMPONENTS;mcp;gateway"
has_mcp || fail "mcp was not found as an option"
refused "callgate has no component 'gateway': there are core and mcp" core -DARGUMENTS="COMPONENTS;core;gateway"
if [[ -f $library/libcallgate-mcp.a ]]; then
    no_tls=-DOPENSSL_SSL_LIBRARY=none
    found core "$no_tls"
    found core "$no_tls" -DARGUMENTS="OPTIONAL_COMPONENTS;mcp"
    if has_mcp; then fail "mcp was found without libssl"; fi
    refused "component mcp needs OpenSSL 3 with libssl" mcp "$no_tls"
fi

# with_pkg_config MODULE: its options, in $options.
with_pkg_config() {
    read -r -d '' -a options < <(pkg-config --cflags --libs "$1") || true
    ((${#options[@]})) || fail "pkg-config does not know $1"
}
# by_pkg_config PART MODULE
by_pkg_config() {
    echo "-- pkg-config $2"
    with_pkg_config "$2"
    "$compiler" -std=c++20 "${flags[@]}" "$here/$1/main.cpp" -Wl,--no-as-needed "${options[@]}" \
        -o "$work/by_$2" || fail "the program of $1 did not build with pkg-config"
    check "$1" "$work/by_$2"
}
by_pkg_config core callgate
by_pkg_config mcp callgate-mcp

echo "-- what the headers of core include"
with_pkg_config callgate
find "$prefix/include/callgate" -name '*.h' ! -name 'mcp*' -printf '#include <callgate/%f>\n' >"$work/all.cpp"
"$compiler" -std=c++20 "${flags[@]}" "${options[@]}" -M "$work/all.cpp" | tr -s ' \\\n' '\n' >"$work/included"
grep -q '/boost/asio/' "$work/included" || fail "the compiler does not say what async.h includes"
if grep '/boost/beast\|/boost/asio/ssl\|/openssl/\|/callgate/mcp' "$work/included"; then fail "headers of core include what is of mcp"; fi

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
