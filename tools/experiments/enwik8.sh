#!/usr/bin/env bash
# Trains linear attention on the bytes of enwik8, with and without RoPE (Su et al. 2021, figure 2, right). Causal sums
# hardly encode order, and Performers have absolute positions, so the arm without RoPE has sinusoidal positions.
#   tools/experiments/enwik8.sh [--updates N] [--only rope|sinusoidal] FILE OUTPUT [OPTIONS OF gyre train lm]...
# FILE: enwik8, or its beginning. The first 90 % are the training data, the next 5 % the validation data, and the last
# 5 % the test data of the table. OUTPUT gets a run per arm, curves.png, losses.tsv and table.md. RANKS: number of
# ranks, default 2. Existing results are kept, so the script resumes an interrupted experiment.
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
usage() {
  sed -n '4,7s/^# *//p' "$0" >&2
  exit 2
}

updates=1500
arms="rope sinusoidal"
while [ $# -gt 2 ]; do
  case "$1 $2" in
    "--updates "*) updates=$2 ;;
    "--only rope" | "--only sinusoidal") arms=$2 ;;
    --*) usage ;;
    *) break ;;
  esac
  shift 2
done
if [ $# -lt 2 ]; then usage; fi
text=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
ranks=${RANKS:-2}

options_of() {
  case $1 in
    rope) echo --position rope --linear-rope post-map ;;
    sinusoidal) echo --position sinusoidal --scale-embedding ;;
  esac
}
attention=(--attention linear --linear-map elu+1)

mkdir -p "$output"
size=$(stat -Lc %s "$text")
part=$((size / 20))
if [ ! -e "$output/bytes.model" ]; then
  head -c $((size - 2 * part)) "$text" > "$output/train"
  head -c $((size - part)) "$text" | tail -c "$part" > "$output/valid"
  tail -c "$part" "$text" > "$output/test"
  "$gyre" vocab --type bytes --output "$output/bytes.model"
fi

for arm in $arms; do
  read -ra position <<< "$(options_of "$arm")"
  run=$output/$arm
  "$here/../scripts/mpirun.sh" -n "$ranks" "$gyre" train lm --config "$here/../recipes/enwik8-small.toml" \
    --train-sets "$output/train" --valid-sets "$output/valid" --vocab "$output/bytes.model" --model "$run" \
    --after "${updates}u" "${attention[@]}" "${position[@]}" "$@"
  check_ended "$run"
  "$gyre" evaluate perplexity --model "$run" --checkpoint last --input "$output/test" --documents whole --json > "$run/test.json"
done

# Plot all existing arms, including those of earlier calls.
runs=()
for arm in rope sinusoidal; do
  if [ -e "$output/$arm/test.json" ]; then runs+=("$output/$arm"); fi
done
"$gyre" plot --model "${runs[@]}" --title "enwik8: linear attention" --output "$output/curves.png"

# One row per validation: run, updates, loss.
for run in "${runs[@]}"; do
  sed -n "s/.*\"event\":\"valid\",\"updates\":\([0-9]*\),\"loss\":\([0-9.]*\).*/${run##*/}\t\1\t\2/p" "$run/metrics.jsonl"
done > "$output/losses.tsv"
{
  echo "| positions | updates | validation, bits per byte | test, bits per byte |"
  echo "|---|---|---|---|"
  for run in "${runs[@]}"; do
    test=$(sed -n 's/.*"bits_per_byte":\([0-9.]*\).*/\1/p' "$run/test.json")
    awk -F'\t' -v run="${run##*/}" -v test="$test" '$1 == run { updates = $2; bits = $3 / log(2) }
      END { printf "| %s | %d | %.3f | %.3f |\n", run, updates, bits, test }' "$output/losses.tsv"
  done
} | tee "$output/table.md"
