#!/usr/bin/env bash
# tools/install.sh install BUILD PREFIX [DESTDIR]: install the build folder BUILD under PREFIX, as seen from DESTDIR.
# tools/install.sh uninstall PREFIX [DESTDIR]: remove what was installed there, and nothing else.
#
# share/callgate/installed.txt under PREFIX names every file of the installation. What an earlier installation had and this
# one has not is removed as well. Folders are removed if they are ours by name and empty.
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
root=$destdir$prefix
list=share/callgate/installed.txt

# The files of the installation that is there, in $files. All of them are looked at before anything is removed.
files=()
read_list() {
    [[ -f $root/$list ]] || return 1
    mapfile -t files <"$root/$list"
    local file
    for file in "${files[@]}"; do
        [[ $file && $file != /* && /$file/ != */../* ]] || fail "$root/$list is damaged: it names '$file'"
    done
}

removed=0
remove() {
    local folder=${1%/*}
    [[ -e $root/$1 || -L $root/$1 ]] || return 0
    rm -f -- "$root/$1"
    removed=$((removed + 1))
    while [[ /$folder/ == */callgate/* ]]; do
        rmdir -- "$root/$folder" 2>/dev/null || break
        folder=${folder%/*}
    done
}

if [[ $verb == uninstall ]]; then
    read_list || fail "nothing of Callgate is installed under ${root:-/}: there is no $root/$list"
    for file in "${files[@]}"; do remove "$file"; done
    echo "removed: $removed files under ${root:-/}"
    exit
fi

read_list || true
log=$(mktemp)
trap 'rm -f "$log"' EXIT
DESTDIR=$destdir cmake --install "$build" --prefix "${prefix:-/}" >"$log" 2>&1 || {
    cat "$log" >&2
    fail "not everything was installed under ${root:-/}: see above. May you write there?"
}
# CMake's own list has the places without DESTDIR; its last line has no end.
{
    while IFS= read -r file || [[ $file ]]; do
        [[ $file == "$prefix"/* ]] || fail "$build installs $file, which is not under ${prefix:-/}"
        printf '%s\n' "${file#"$prefix"/}"
    done <"$build/install_manifest.txt"
    echo "$list"
} | sort -u >"$log"
for file in "${files[@]}"; do
    grep -Fxq -- "$file" "$log" || remove "$file"
done
mkdir -p "$root/${list%/*}"
cat "$log" >"$root/$list"
echo "installed: $(grep -c . "$log") files under ${root:-/}"
