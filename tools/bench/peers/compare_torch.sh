#!/usr/bin/env bash
# Compares training steps in Gyre and in PyTorch on this machine: alternating runs, medians of the rounds, the ratio.
#   tools/bench/peers/compare_torch.sh [--rounds N] [--steps N] [--threads N] [--text PREFIX] [--preset NAME] [--precision NAME]
# multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de; default: from the synthetic corpus. GYRE (build/gyre) is
# the program. PYTHON (python3) must have torch.
set -euo pipefail
here=$(dirname "$0")
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
rounds=3 steps=10 threads=$(nproc) text= presets="nmt-base mlm-small multi30k-tiny" precisions="fp32 bf16"
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --steps) steps=$2 ;;
    --threads) threads=$2 ;;
    --text) text=$2 ;;
    --preset) presets=$2 ;;
    --precision) precisions=$2 ;;
    *)
      sed -n '3,5s/^# *//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done

"$gyre" --version > /dev/null || { echo "compare_torch: $gyre does not run; build it, or set GYRE" >&2; exit 1; }
torch=$("$python" -c 'import torch; print(torch.__version__)' 2> /dev/null) || {
  echo "compare_torch: $python has no torch; install it with pip, or set PYTHON to a Python that has it" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$text" ]; then
  "$gyre" data generate --output "$work" --val 1 --test 1
  text=$work/train
fi

# Lets OpenBLAS choose its kernels for this CPU.
run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS="$threads" "$@"; }

field() { # field NAME < one JSON object
  grep -oE "\"$1\":[0-9.e+-]+" | head -n 1 | cut -d: -f2
}

median() { # median NAME FILE: the median over a file with one JSON object per line
  while read -r line; do field "$1" <<< "$line"; done < "$2" | sort -g |
    awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# compare PRESET PRECISION: prints one line of the table.
compare() {
  local call=(--preset "$1" --precision "$2" --threads "$threads" --steps "$steps") round only_preset=()
  [ "$1" = multi30k-tiny ] && only_preset=(--text "$text")
  rm -f "$work"/*.json
  for ((round = 0; round < rounds; ++round)); do
    run "$gyre" bench step "${call[@]}" "${only_preset[@]}" --json >> "$work/gyre.json" 2> "$work/gyre.err" || {
      printf '%-14s %-6s %s\n' "$1" "$2" "$(tail -n 1 "$work/gyre.err")"
      return
    }
    run "$python" "$here/torch_step.py" "${call[@]}" "${only_preset[@]}" >> "$work/torch.json"
  done
  awk -v preset="$1" -v precision="$2" -v gyre="$(median tokens_per_second "$work/gyre.json")" \
    -v torch="$(median tokens_per_second "$work/torch.json")" -v share="$(median share "$work/gyre.json")" \
    -v gyre_mb="$(median peak_rss_mb "$work/gyre.json")" -v torch_mb="$(median peak_rss_mb "$work/torch.json")" \
    'BEGIN { printf "%-14s %-6s %12.0f %12.0f %7.2f %8.1f%% %9.0f %9.0f\n",
             preset, precision, gyre, torch, gyre / torch, 100 * share, gyre_mb, torch_mb }'
}

echo "$("$gyre" --version) and torch $torch: $threads threads, $rounds alternating rounds of $steps steps"
printf '%-14s %-6s %12s %12s %7s %9s %9s %9s\n' preset prec. "gyre tok/s" "torch tok/s" ratio "of limit" "gyre MiB" "torch MiB"
for preset in $presets; do
  for precision in $precisions; do compare "$preset" "$precision"; done
done
