#!/usr/bin/env bash
# docs.sh CALLGATE SNIPPETS: everything about the pages that can be wrong, and the API reference in build/docs/html.
#
# The last line is the RESULT; exit code 0 if nothing is broken and doxygen has no warning.
set -euo pipefail
callgate=$(realpath "$1")
program=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
mkdir -p build/docs

# last COMMAND...: shows what a command prints, and keeps its last line in $line.
last() {
    local out
    out=$("$@") || status=1
    line=${out##*$'\n'}
    [[ $out == "$line" ]] || printf '%s\n' "${out%$'\n'*}"
}
last tools/docs/snippets.py check --callgate "$callgate" --cpp "$program"
snippets=${line%% *}
last tools/docs/links.py
links=${line##* }
pages=${line%% *}
tools/docs/picture.py --callgate "$callgate" || status=1
tools/docs/measured.py check || status=1

rm -rf build/docs/html
: >build/docs/doxygen.log
doxygen docs/Doxyfile || status=1
warnings=$(grep -c . build/docs/doxygen.log || true)
if ((warnings)); then
    cat build/docs/doxygen.log
    status=1
fi
[[ -f build/docs/html/index.html ]] || status=1
echo "RESULT $pages $snippets $links doxygen_warnings=$warnings"
exit $status
