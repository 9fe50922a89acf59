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
export XDG_STATE_HOME=$scratch/state
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

# text_in MEMBER ARGUMENT...: the first text of this name in a JSON answer.
text_in() {
    local member=$1
    shift
    "$binary" "$@" --json </dev/null | sed -n "s/^ *\"$member\": \"\(.*\)\",\?$/\1/p" | head -n 1
}

echo "A tool that sends mail, and a call of it by a model."
show 0 validate $tool
show 1 validate $tool examples/tools/send_mail.bad.json

printf '\nThe runtime: what is called passes ten stages, and ends in one state.\n'
show 0 tools
show 0 call add '{"a": 5, "b": 3}' --trace
show 0 call count '{"to": 3, "step_ms": 0}'
show 1 call fail '{"message": "The disk is full."}'

printf '\nA person decides about exactly this call, and it runs once.\n'
printf '(The demonstration takes your word for it. A host takes a signature: callgate operator enroll.)\n'
show 4 call send_mail "$mail"
show 0 approvals list
approval=$(text_in id approvals list --state pending)
show 0 approvals approve "$approval" --yes --digest "$(text_in digest approvals list)" --reason 'ticket 4711'
show 0 call --resume "$(text_in call_id approvals show "$approval")"

printf '\nWhat nobody knows is told, until somebody finds out.\n'
show 5 call fail '{"how": "lost", "message": "The connection was lost."}'
show 0 calls list --unknown
show 0 calls resolve "$(text_in call_id calls list --unknown)" --not-applied --evidence 'not in the outbox' --yes

printf '\nEverything is on the record, and it can be checked.\n'
show 0 audit tail -n 8
show 0 audit verify
show 0 ledger check

cat <<END

Try next:
  $binary call count '{"to": 50}'    (and press Ctrl-C)
  $binary call send_mail '$mail'    (a terminal asks you)
  $binary approvals watch    (in another terminal, while something asks)
  $binary call notes '{"name": "todo", "text": "x"}' --action write --scope notes --autonomy A0
  echo '{"tool": "send_mail", "arguments": $mail}' | $binary policy test -
  $binary validate YOUR_TOOL.json    (MCP, OpenAI, Anthropic, or a bare JSON Schema)
  $binary --help
END
