#!/usr/bin/env bash
# tools/test.sh [asan] [tsan]: the lanes of `make test`, one after the other, each with its time and the CPU it used.
#
# The first lane that fails ends the run. The tsan lane is left out when there is no *_threads_test.cpp. build/times.tsv
# keeps the times for `make times`. CALLGATE_NO_SKIPS=1 (continuous integration) makes a test that was skipped for want
# of something on the machine a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-$(nproc)}
times=()
SECONDS=0
presets=()
mkdir -p build
: >build/times.tsv

# Sets `cpu_now`: CPU seconds of everything that has been run from here and has ended. A pipe or $(…) would ask another shell.
ask_cpu() {
    times >build/times.now
    cpu_now=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' build/times.now)
}

lane() {
    local name=$1 start=$SECONDS cpu status=0
    ask_cpu
    cpu=$cpu_now
    shift
    echo "== $name"
    "$@" || status=$?
    ask_cpu
    cpu=$((cpu_now - cpu))
    times+=("$(printf '%5d s  %5d CPU s  %s' $((SECONDS - start)) "$cpu" "$name")")
    printf '%s\t%d\t%d\n' "$name" "$cpu" $((SECONDS - start)) >>build/times.tsv
    if ((status)); then
        printf '%s\n' "== times" "${times[@]}" "FAILED: $name" >&2
        exit 1
    fi
}

build() { cmake --preset "$1" >/dev/null && cmake --build --preset "$1" -j"$jobs"; }
run_tests() {
    rm -rf "build/$1/results"
    ctest --preset "$1" -j"$jobs" | tee "build/$1/ctest.log"
}

for preset in "${@:-asan}"; do
    if [[ $preset == tsan && -z $(find src apps tests -name '*_threads_test.cpp' -print -quit) ]]; then
        times+=("    –    tsan: there are no thread tests")
        continue
    fi
    lane "$preset: build" build "$preset"
    lane "$preset: tests" run_tests "$preset"
    presets+=("$preset")
done

ask_cpu
printf '%s\n' "== times" "${times[@]}" "$(printf '%5d s  %5d CPU s  all' "$SECONDS" "$cpu_now")"
python3 -B tools/test_summary.py "${presets[@]}"
