#!/usr/bin/env bash
# tools/test.sh [asan] [tsan]: the lanes of `make test`, one after the other, each with its time.
#
# The first lane that fails ends the run. The tsan lane is left out when there is no *_threads_test.cpp.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-$(nproc)}
times=()
SECONDS=0
presets=()

lane() {
    local name=$1 start=$SECONDS status=0
    shift
    echo "== $name"
    "$@" || status=$?
    times+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
    if ((status)); then
        printf '%s\n' "== times" "${times[@]}" "FAILED: $name" >&2
        exit 1
    fi
}

build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" -j"$jobs"; }
run_tests() { ctest --preset "$1" -j"$jobs" | tee "build/$1/ctest.log"; }

for preset in "${@:-asan}"; do
    if [[ $preset == tsan && -z $(find src apps tests -name '*_threads_test.cpp' -print -quit) ]]; then
        times+=("    –    tsan: there are no thread tests")
        continue
    fi
    lane "$preset: build" build "$preset"
    lane "$preset: tests" run_tests "$preset"
    presets+=("$preset")
done

printf '%s\n' "== times" "${times[@]}" "$(printf '%5d s  all' "$SECONDS")"
for preset in "${presets[@]}"; do
    echo "$preset: $(grep 'tests passed' "build/$preset/ctest.log")"
done
