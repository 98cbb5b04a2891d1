#!/usr/bin/env bash
# Trains masked language models that differ only in their position encoding, with the same data and updates: rotary,
# learned and sinusoidal (Su et al. 2021, figure 2, left).
#   tools/experiments/mlm_convergence.sh TEXT OUTPUT [OPTIONS OF gyre train mlm]...
# TEXT: documents separated by blank lines. OUTPUT gets runs <position>-<seed>/, curves.png and losses.tsv. Environment:
# POSITIONS="rope learned sinusoidal", SEEDS="1 2", RANKS=2, PIECES=8000 (of the vocabulary). Existing results are kept,
# so the script resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '4,7s/^# *//p' "$0" >&2
  exit 2
fi
text=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
ranks=${RANKS:-2}

position_options() {
  case $1 in
    rope) echo --position rope ;;
    learned) echo --position learned --max-positions 512 ;;
    sinusoidal) echo --position sinusoidal --max-positions 512 --scale-embedding ;;
  esac
}

"$here/books_data.sh" "$text" "$output" "${PIECES:-8000}"
runs=()
for seed in ${SEEDS:-1 2}; do
  for position in ${POSITIONS:-rope learned sinusoidal}; do
    run=$output/$position-$seed
    read -ra options <<< "$(position_options "$position")"
    "$here/../scripts/mpirun.sh" -n "$ranks" "$gyre" train mlm \
      --config "$here/../recipes/mlm-small.toml" "$here/mlm_long.toml" "${options[@]}" \
      --train-sets "$output/text.tok" --vocab "$output/vocab.txt" --model "$run" --seed "$seed" "$@"
    check_ended "$run"
    runs+=("$run")
  done
done
"$gyre" plot --model "${runs[@]}" --no-train --output "$output/curves.png"

# One row per validation: run, updates, loss.
for run in "${runs[@]}"; do
  sed -n "s/.*\"event\":\"valid\",\"updates\":\([0-9]*\),\"loss\":\([0-9.]*\).*/${run##*/}\t\1\t\2/p" "$run/metrics.jsonl"
done > "$output/losses.tsv"
for run in "${runs[@]}"; do
  awk -F'\t' -v run="${run##*/}" '$1 == run { updates = $2; loss = $3 }
    END { printf "%s: validation loss %.3f after %d updates\n", run, loss, updates }' "$output/losses.tsv"
done
