#!/usr/bin/env bash
# tools/demo.sh BINARY: show the program at work: a schema checked, and calls of the demo set through every stage.
#
# Asks nothing. Exits 0 when every exit code is the expected one.
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
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export CALLGATE_LEDGER=$scratch/ledger
mail='{"to": ["ada@example.org"], "subject": "Hello"}'

# show EXPECTED_EXIT_CODE ARGUMENT...: print a command line, run it, hold it to its exit code.
show() {
    local expected=$1 status=0 word line=
    shift
    for word in "$@"; do
        [[ $word == *[!a-zA-Z0-9_./=-]* ]] && word="'$word'"
        line+=" $word"
    done
    printf '\n$ %s%s\n' "$binary" "$line"
    "$binary" "$@" </dev/null 2>&1 || status=$?
    if ((status != expected)); then
        echo "demo: exit code $status where $expected was expected" >&2
        exit 1
    fi
}

echo "A tool that sends mail, and a call of it by a model."
show 0 validate $tool
show 1 validate $tool examples/tools/send_mail.bad.json

printf '\nThe runtime: what is called passes ten stages, and ends in one state.\n'
show 0 tools
show 0 call add '{"a": 5, "b": 3}' --trace
show 0 call count '{"to": 3, "step_ms": 0}'
show 4 call send_mail "$mail"
show 0 approvals list
show 0 call send_mail "$mail" --approve-as grace
show 1 call fail '{"message": "The disk is full."}'
show 5 call fail '{"how": "lost", "message": "The connection was lost."}'

printf '\nThe ledger: everything is on the record, and it can be checked.\n'
show 0 calls list --unknown
show 0 audit tail -n 5
show 0 audit verify

cat <<END

Try next:
  $binary call count '{"to": 50}'    (and press Ctrl-C)
  $binary call send_mail '$mail'    (a terminal asks you)
  $binary call notes '{"name": "todo", "text": "x"}' --action write --scope notes --autonomy A0
  echo '{"tool": "send_mail", "arguments": $mail}' | $binary policy test -
  $binary validate YOUR_TOOL.json    (MCP, OpenAI, Anthropic, or a bare JSON Schema)
  $binary --help
END
