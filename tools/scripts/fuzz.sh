#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS: runs libFuzzer on every reader for this time, starting from tests/fuzz/corpus. Inputs that fail
# are written to BUILD. Add them to the corpus, which every build tests.
set -euo pipefail
build=$1 seconds=$2
corpus=$(cd "$(dirname "$0")/../../tests/fuzz/corpus" && pwd)
export TMPDIR=/dev/shm  # some targets write a file for each input
cd "$build"
run() {
  local target=$1
  mkdir -p "found/$target"
  if ! "tests/fuzz/fuzz_$target" -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$target-" "found/$target" "$3/$target" > "$target.log" 2>&1; then
    tail -n 40 "$target.log" >&2
    echo "fuzz: $target failed; add $PWD/$target-* to tests/fuzz/corpus/$target" >&2
    return 1
  fi
  echo "fuzz: $target: $(grep -oE 'number_of_executed_units: *[0-9]+' "$target.log" | grep -oE '[0-9]+$') inputs accepted or rejected in $2 s"
}
export -f run
ls "$corpus" | xargs -P "$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" -I {} bash -c 'run "$@"' run {} "$seconds" "$corpus"
