#!/usr/bin/env bash
# Measures a pretrained decoder with RoPE on texts longer than those of its training: perplexity as it is and with scaled
# frequencies, the same after a short continuation on long texts with YaRN and adapters, and pass keys.
#   tools/experiments/long_contexts.sh MODEL TEXT OUTPUT [OPTIONS OF gyre train lm]...
# MODEL: a run, such as gyre import makes. TEXT: at least three documents separated by blank lines, of which the last two
# are held out. OUTPUT gets results/NAME-LENGTH.json (gyre evaluate extrapolation), passkey-NAME.svg and table.md.
# Existing results are kept, so the script resumes; other settings require another OUTPUT. Environment:
#   LENGTHS="2048 4096 8192 16384"  TOKENS=65536 (scored at each length)  TRAINED=8192 (longest text of the training)
#   SCALINGS="none linear ntk yarn"
#   UPDATES=50 (of the continuation; 0: none)  CONTINUED=16384 (tokens of its samples)
#   KEYS="1k 4k 8k 16k" (lengths of the pass keys; empty: none)  SAMPLES=4 (keys by length and depth)
set -euo pipefail
. "$(dirname "$0")/lib.sh"
if [ $# -lt 3 ]; then
  sed -n '4,11s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 text=$2 output=$3
shift 3
gyre=${GYRE:-build/gyre}
tokens=${TOKENS:-65536} trained=${TRAINED:-8192} updates=${UPDATES:-50} continued=${CONTINUED:-16384}
keys=${KEYS-1k 4k 8k 16k} samples=${SAMPLES:-4}
read -ra lengths <<< "${LENGTHS:-2048 4096 8192 16384}"
read -ra scalings <<< "${SCALINGS:-none linear ntk yarn}"
if [ "$updates" -eq 0 ] && [ $# -gt 0 ]; then
  echo "long_contexts: $* would have no effect: UPDATES is 0" >&2
  exit 2
fi

mkdir -p "$output/results"
settings="TOKENS=$tokens TRAINED=$trained CONTINUED=$continued KEYS=$keys SAMPLES=$samples"
check_settings "$output" "$settings"
held_out "$text" "$output"

# The factor by which a length exceeds that of the training.
factor() { awk -v tokens="$1" -v trained="$trained" 'BEGIN { print (tokens > trained) ? tokens / trained : 1 }'; }

score() { # score NAME RUN LENGTH SCALING: unless it is done and the run has not been continued since
  local result=$output/results/$1-$3.json start=$SECONDS scaling=()
  [ ! "$result" -nt "$2/checkpoints/last/model.safetensors" ] || return 0
  # Frequencies are scaled for lengths beyond the training only.
  if [ "$4" != none ] && [ "$3" -le "$trained" ] && [ -e "$output/results/none-$3.json" ]; then
    cp "$output/results/none-$3.json" "$result"
    return
  fi
  if [ "$4" != none ] && [ "$3" -gt "$trained" ]; then scaling=(--rope-scaling "$4" --rope-scaling-factor "$(factor "$3")"); fi
  "$gyre" evaluate extrapolation --model "$2" --checkpoint last --input "$output/held-out.txt" --documents blank-line \
    --lengths "$3" --trained-length "$trained" --protocol full --tokens "$tokens" --precision auto "${scaling[@]}" \
    --quiet --json > "$result.part"
  keep_settings "$output" "$settings"
  mv "$result.part" "$result"
  echo "$1 at $3 tokens: $(perplexity "$1" "$3"), $((SECONDS - start)) s" >&2
}
perplexity() { sed -nE 's/.*"perplexity":([0-9.e+-]+|null).*/\1/p' "$output/results/$1-$2.json"; }

find_keys() { # find_keys NAME RUN
  [ -n "$keys" ] && [ ! "$output/passkey-$1.json" -nt "$2/checkpoints/last/model.safetensors" ] || return 0
  "$gyre" evaluate passkey --model "$2" --checkpoint last --lengths "${keys// /,}" --samples "$samples" --precision auto \
    --quiet --picture "$output/passkey-$1.svg" --json > "$output/passkey-$1.part"
  mv "$output/passkey-$1.part" "$output/passkey-$1.json"
}

# The shortest length is scored first: the time of the others follows from it.
if [ ! -e "$output/results/${scalings[0]}-${lengths[0]}.json" ]; then
  start=$SECONDS
  score "${scalings[0]}" "$model" "${lengths[0]}" "${scalings[0]}"
  awk -v seconds=$((SECONDS - start)) -v first="${lengths[0]}" -v lengths="${lengths[*]}" -v trained="$trained" \
    -v scalings="${#scalings[@]}" '
    BEGIN { n = split(lengths, all, " ")
            for (i = 1; i <= n; ++i) sum += seconds * (1 + all[i] / first / 8) * (all[i] > trained ? scalings : 1)
            printf("expected time of the scores without continuation: %d minutes\n", 1 + sum / 60) }' >&2
fi
for scaling in "${scalings[@]}"; do
  for length in "${lengths[@]}"; do score "$scaling" "$model" "$length" "$scaling"; done
done
find_keys as-it-is "$model"

names=("${scalings[@]}")
if [ "$updates" -gt 0 ]; then
  # The continuation predicts its time by itself, as every training does.
  run=$output/continued
  "$gyre" train lm --pretrained-model "$model" --train-sets "$output/train.txt" --documents blank-line \
    --max-length "$continued" --mini-batch-words "$continued" --after "${updates}u" --learn-rate 2e-4 --lr-schedule constant \
    --lr-warmup 5 --rope-scaling yarn --rope-scaling-factor "$(factor "$continued")" --rope-original-length "$trained" \
    --lora-rank 8 --lora-alpha 16 --lora-targets q_proj k_proj v_proj out_proj --transformer-dropout 0 --precision auto \
    --recompute block --disp-freq 5u --valid-share 0 --model "$run" "$@"
  check_ended "$run"
  names+=(continued)
  for length in "${lengths[@]}"; do score continued "$run" "$length" none; done # with its own frequencies
  find_keys continued "$run"
fi

{
  table_head frequencies "${lengths[@]}"
  for name in "${names[@]}"; do
    printf '| %s |' "$name"
    for length in "${lengths[@]}"; do perplexity "$name" "$length" | awk '{ printf($1 == "null" ? " n/a |" : " %.2f |", $1) }'; done
    echo
  done
} | tee "$output/table.md"
