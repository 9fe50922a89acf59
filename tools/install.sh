#!/usr/bin/env bash
# tools/install.sh install BUILD PREFIX [DESTDIR]: install the build folder BUILD under PREFIX, as seen from DESTDIR.
# tools/install.sh uninstall PREFIX [DESTDIR]: remove what was installed there, and nothing else.
#
# share/callgate/installed.txt under PREFIX names every file of the installation. Folders are removed if they are ours by
# name and empty.
set -euo pipefail
export LC_ALL=C.UTF-8

fail() {
    printf 'install: %s\n' "$@" >&2
    exit 2
}

verb=${1-}
case $verb in
    install) (($# >= 3)) || fail "say what to install where: install BUILD PREFIX [DESTDIR]"; build=$2; shift 2 ;;
    uninstall) (($# >= 2)) || fail "say from where: uninstall PREFIX [DESTDIR]"; shift ;;
    *) fail "the first word is install or uninstall" ;;
esac
[[ $1 ]] || fail "PREFIX is empty: leave it out for /usr/local, or name a folder"
prefix=$(realpath -ms -- "$1")
prefix=${prefix%/} # of "/"
destdir=${2:+$(realpath -m -- "$2")}
destdir=${destdir%/}
list=share/callgate/installed.txt
root=$destdir$prefix

if [[ $verb == install ]]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    DESTDIR=$destdir cmake --install "$build" --prefix "${prefix:-/}" >"$log" 2>&1 || {
        cat "$log" >&2
        fail "nothing, or not everything, was installed under $root: see above. May you write there?"
    }
    # CMake's own list has the places without DESTDIR.
    while IFS= read -r file || [[ $file ]]; do printf '%s\n' "${file#"$prefix"/}"; done <"$build/install_manifest.txt" >"$log"
    grep -Ev '^/|(^|/)\.\.(/|$)' "$log" >/dev/null || fail "$build/install_manifest.txt names no file under $prefix"
    { cat "$log" && echo "$list"; } | sort -u >"$root/$list"
    echo "installed: $(grep -c . "$root/$list") files under $root"
    exit
fi

[[ -f $root/$list ]] || fail "nothing of Callgate is installed under ${root:-/}: there is no $root/$list"
# All of it is looked at before anything is removed.
mapfile -t files <"$root/$list"
for file in "${files[@]}"; do
    [[ $file && $file != /* && /$file/ != */../* ]] || fail "$root/$list is damaged: it names '$file'"
done
removed=0
for file in "${files[@]}"; do
    if [[ -e $root/$file || -L $root/$file ]]; then
        rm -f -- "$root/$file"
        removed=$((removed + 1))
    fi
done
for file in "${files[@]}"; do
    folder=${file%/*}
    while [[ /$folder/ == */callgate/* ]]; do
        rmdir -- "$root/$folder" 2>/dev/null || break
        folder=${folder%/*}
    done
done
echo "removed: $removed files under $root"
