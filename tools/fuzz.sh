#!/usr/bin/env bash
# tools/fuzz.sh SECONDS JOBS [SUBJECT…]: each libFuzzer program of build/fuzz, or those named, for that long, JOBS of them at
# a time.
#
# Starts from the seeds in fuzz/corpus/X; what it learns is kept in build/fuzz/corpus/X for the next run, and an
# input that breaks something in build/fuzz/findings/X. A finding becomes a seed when its fault is mended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=$1
jobs=$2
shift 2

fuzz_one() {
    local subject=$1
    local work=build/fuzz/corpus/$subject findings=build/fuzz/findings/$subject log=build/fuzz/$subject.log
    rm -rf "$findings"
    mkdir -p "$work" "$findings"
    local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="$findings/")
    [[ -f fuzz/$subject.dict ]] && options+=(-dict="fuzz/$subject.dict")
    local status=0
    "build/fuzz/bin/${subject}_fuzz" "${options[@]}" "$work" "fuzz/corpus/$subject" >"$log" 2>&1 || status=$?
    if ((status)); then
        grep -m1 -A25 -E 'ERROR:|runtime error:|libFuzzer:' "$log" || tail -n 25 "$log"
        echo "FINDING $subject: the input is in $findings, the whole log is $log."
        echo "To see it again with names in the stack: build/asan/bin/${subject}_fuzz $findings"
        return 1
    fi
    printf '%-16s %10s runs, %6s inputs kept, no finding\n' "$subject" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$work" -type f | wc -l)"
}

subjects=()
for subject; do
    [[ -e fuzz/${subject}_fuzz.cpp ]] || { echo "fuzz: there is no target '$subject' (fuzz/${subject}_fuzz.cpp)" >&2; exit 2; }
    subjects+=("$subject")
done
((${#subjects[@]})) || for source in fuzz/*_fuzz.cpp; do
    [[ -e $source ]] || { echo "fuzz: there are no fuzz targets (fuzz/*_fuzz.cpp)" >&2; exit 1; }
    subjects+=("$(basename "$source" _fuzz.cpp)")
done

echo "fuzz: ${#subjects[@]} targets, $seconds s each, $jobs at a time"
failures=0
pids=()
for subject in "${subjects[@]}"; do
    while (($(jobs -rp | wc -l) >= jobs)); do wait -n || true; done
    fuzz_one "$subject" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failures=$((failures + 1)); done
echo "RESULT fuzz_targets=${#subjects[@]} seconds_each=$seconds findings=$failures"
((failures == 0))
