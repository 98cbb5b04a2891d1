#!/usr/bin/env bash
# Measures a pretrained decoder with RoPE on texts longer than those of its training: perplexity as it is and with scaled
# frequencies, the same after a short continuation on long texts with YaRN and adapters, and pass keys.
#   tools/experiments/long_contexts.sh MODEL TEXT OUTPUT [OPTIONS OF gyre train lm]...
# MODEL: a run, such as gyre import makes. TEXT: documents separated by blank lines; the last two are held out. OUTPUT
# gets results/NAME.json (gyre evaluate extrapolation), passkey-NAME.svg and table.md. Existing results are kept, so the
# script resumes. Environment:
#   LENGTHS="2048 4096 8192 16384"  TOKENS=65536 (scored at each length)  TRAINED=8192 (longest text of the training)
#   SCALINGS="none linear ntk yarn"
#   UPDATES=50 (of the continuation; 0: none)  CONTINUED=16384 (tokens of its samples)
#   KEYS="1k 4k 8k 16k" (lengths of the pass keys; empty: none)  SAMPLES=4 (keys by length and depth)
set -euo pipefail
if [ $# -lt 3 ]; then
  sed -n '4,11s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 text=$2 output=$3
shift 3
gyre=${GYRE:-build/gyre}
lengths=${LENGTHS:-2048 4096 8192 16384} tokens=${TOKENS:-65536} trained=${TRAINED:-8192} updates=${UPDATES:-50}
continued=${CONTINUED:-16384} keys=${KEYS-1k 4k 8k 16k}
scalings=${SCALINGS:-none linear ntk yarn}

mkdir -p "$output/results"
if [ ! -e "$output/held-out.txt" ]; then
  awk -v RS= -v ORS='\n\n' -v rest="$output/train.part" -v held="$output/held-out.part" '
    { if (NR > 2) print before[NR % 2] > rest; before[NR % 2] = $0 }
    END { print before[(NR + 1) % 2] > held; print before[NR % 2] > held }' "$text"
  mv "$output/train.part" "$output/train.txt"
  mv "$output/held-out.part" "$output/held-out.txt"
fi

# The factor by which a length exceeds that of the training.
factor() { awk -v tokens="$1" -v trained="$trained" 'BEGIN { print (tokens > trained) ? tokens / trained : 1 }'; }

score() { # score NAME RUN LENGTH SCALING
  local result=$output/results/$1-$3.json start=$SECONDS scaling=()
  [ ! -e "$result" ] || return 0
  if [ "$4" != none ] && [ "$3" -gt "$trained" ]; then scaling=(--rope-scaling "$4" --rope-scaling-factor "$(factor "$3")"); fi
  "$gyre" evaluate extrapolation --model "$2" --input "$output/held-out.txt" --documents blank-line --lengths "$3" \
    --protocol full --tokens "$tokens" --precision auto "${scaling[@]}" --quiet --json > "$result.part"
  mv "$result.part" "$result"
  echo "$1 at $3 tokens: $(perplexity "$1" "$3"), $((SECONDS - start)) s" >&2
}
perplexity() { sed -nE 's/.*"perplexity":([0-9.e+-]+).*/\1/p' "$output/results/$1-$2.json"; }

find_keys() { # find_keys NAME RUN
  [ -n "$keys" ] && [ ! -e "$output/passkey-$1.json" ] || return 0
  "$gyre" evaluate passkey --model "$2" --lengths "${keys// /,}" --samples "${SAMPLES:-4}" --precision auto --quiet \
    --picture "$output/passkey-$1.svg" --json > "$output/passkey-$1.part"
  mv "$output/passkey-$1.part" "$output/passkey-$1.json"
}

# The shortest length is scored first: the time of the others follows from it.
names=()
read -ra all <<< "$lengths"
for scaling in $scalings; do
  names+=("$scaling")
  for length in "${all[@]}"; do
    start=$SECONDS
    score "$scaling" "$model" "$length" "$scaling"
    if [ "$length" = "${all[0]}" ] && [ "$scaling" = "${scalings%% *}" ]; then
      awk -v seconds=$((SECONDS - start)) -v first="${all[0]}" -v lengths="$lengths" -v scalings="$(wc -w <<< "$scalings")" '
        BEGIN { n = split(lengths, all, " "); for (i = 1; i <= n; ++i) sum += seconds * (1 + all[i] / first / 8)
                printf "expected time of the scores without continuation: %d minutes\n", 1 + sum * scalings / 60 }' >&2
    fi
  done
done
find_keys as-it-is "$model"

if [ "$updates" -gt 0 ]; then
  # The continuation predicts its time by itself, as every training does.
  "$gyre" train lm --pretrained-model "$model" --train-sets "$output/train.txt" --documents blank-line \
    --max-length "$continued" --mini-batch-words "$continued" --after "${updates}u" --learn-rate 2e-4 --lr-schedule constant \
    --lr-warmup 5 --rope-scaling yarn --rope-scaling-factor "$(factor "$continued")" --rope-original-length "$trained" \
    --lora-rank 8 --lora-alpha 16 --lora-targets q_proj k_proj v_proj out_proj --transformer-dropout 0 --precision auto \
    --recompute block --disp-freq 5u --valid-share 0 --model "$output/continued" "$@"
  names+=(continued)
  for length in "${all[@]}"; do score continued "$output/continued" "$length" none; done
  find_keys continued "$output/continued"
fi

{
  printf '| frequencies |'
  printf ' %s |' "${all[@]}"
  printf '\n|---|'
  printf -- '---:|%.0s' "${all[@]}"
  echo
  for name in "${names[@]}"; do
    printf '| %s |' "$name"
    for length in "${all[@]}"; do printf ' %.2f |' "$(perplexity "$name" "$length")"; done
    echo
  done
} | tee "$output/table.md"
