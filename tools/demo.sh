#!/usr/bin/env bash
# tools/demo.sh BINARY: show the program at work on a sample tool, with one good and one bad call.
#
# Asks nothing. Exits 0 when every verdict is the expected one.
set -euo pipefail

if (($# != 1)) || [[ ! -x $1 ]]; then
    echo "usage: tools/demo.sh BINARY    (the callgate program; \`make run\` builds it)" >&2
    exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
binary=$(realpath "$1")
cd "$root"
binary=$(realpath --relative-base="$root" "$binary")
[[ $binary == /* ]] || binary=./$binary
tool=examples/tools/send_mail.json

# show EXPECTED_EXIT_CODE ARGUMENT...: print a command line, run it, hold it to its exit code.
show() {
    local expected=$1 status=0
    shift
    printf '\n$ %s %s\n' "$binary" "$*"
    "$binary" "$@" || status=$?
    if ((status != expected)); then
        echo "demo: exit code $status where $expected was expected" >&2
        exit 1
    fi
}

echo "A tool that sends mail, and two calls of it by a model."
show 0 validate $tool
show 0 validate $tool examples/tools/send_mail.good.json
show 1 validate $tool examples/tools/send_mail.bad.json

cat <<END

The first call would run; the second would be answered with those sentences instead. Try next:
  edit examples/tools/send_mail.bad.json until it is valid
  $binary validate --json --coerce $tool examples/tools/send_mail.bad.json
  echo '{"to": ["ada@example.org"]}' | $binary validate $tool -
  $binary validate YOUR_TOOL.json    (MCP, OpenAI, Anthropic, or a bare JSON Schema)
  $binary validate --help
END
