#!/usr/bin/env bash
# Prints the folder of the JSON Schema test suite: CALLGATE_SCHEMA_SUITE, else the copy that may stand beside the
# repository, else Debian's package, which is older and, of our dialects, knows draft-07 only.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
beside=$root/../shared/data/json-schema-test-suite
debian=/usr/share/json-schema-test-suite

if [[ -n ${CALLGATE_SCHEMA_SUITE:-} ]]; then
    [[ -d $CALLGATE_SCHEMA_SUITE/tests ]] || {
        echo "CALLGATE_SCHEMA_SUITE=$CALLGATE_SCHEMA_SUITE holds no JSON Schema test suite (no folder tests in it)" >&2
        exit 1
    }
    (cd "$CALLGATE_SCHEMA_SUITE" && pwd)
elif [[ -d $beside/tests ]]; then
    (cd "$beside" && pwd)
elif [[ -d $debian/tests ]]; then
    echo "The official JSON Schema test suite is not here (set CALLGATE_SCHEMA_SUITE to its folder);" \
        "using Debian's json-schema-test-suite: draft-07 only" >&2
    echo "$debian"
else
    echo "There is no JSON Schema test suite here: set CALLGATE_SCHEMA_SUITE to its folder" >&2
    exit 1
fi
