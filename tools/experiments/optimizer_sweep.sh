#!/usr/bin/env bash
# Compares Muon with a tuned AdamW on the stories of tools/experiments/story.sh: AdamW over a grid of learning rates and
# weight decays with all updates, then Muon over learning rates with three quarters of them, each with a whole schedule;
# the best of both again with other seeds.
#   tools/experiments/optimizer_sweep.sh STORY OUTPUT [OPTIONS OF gyre train lm]...
# STORY: an output of story.sh, of which tokenizer.json and text.tok are read. OUTPUT gets runs/NAME and sweep.tsv
# (optimizer, rate, decay, seed, updates, loss). Environment: UPDATES=400, SEEDS="1 2", RATES="1e-3 2e-3 4e-3" and
# DECAYS="0.01 0.1" of AdamW, MUON_RATES="2e-3 4e-3 8e-3". Existing results are kept, so the script resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '5,8s/^# *//p' "$0" >&2
  exit 2
fi
story=$1
output=$2
shift 2
options=("$@")
gyre=${GYRE:-build/gyre}
updates=${UPDATES:-400}
read -ra seeds <<< "${SEEDS:-1 2}"
mkdir -p "$output/runs"

# last_loss RUN: the loss of the last validation.
last_loss() {
  sed -n 's/.*"event":"valid","updates":[0-9]*,"loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | tail -n 1
}

# run OPTIMIZER RATE DECAY SEED UPDATES: trains unless done, and adds a line to sweep.tsv.
run() {
  local name=$1-$2-$3-$4-$5
  if ! has_ended "$output/runs/$name" "$5"; then
    "$gyre" train lm --config "$here/../recipes/story.toml" --preset llama-tiny --optimizer "$1" --learn-rate "$2" \
      --weight-decay "$3" --seed "$4" --after "${5}u" --total-updates "$5" --valid-freq "${5}u" \
      --train-sets "$story/text.tok" --vocab "$story/tokenizer.json" --model "$output/runs/$name" "${options[@]}"
    check_ended "$output/runs/$name"
  fi
  printf '%s\t%s\t%s\t%s\t%d\t%s\n' "$@" "$(last_loss "$output/runs/$name")" >> "$output/sweep.tsv"
}

# best OPTIMIZER: "RATE DECAY" with the least loss of the first seed.
best() {
  awk -F'\t' -v optimizer="$1" -v seed="${seeds[0]}" '$1 == optimizer && $4 == seed { print $6, $2, $3 }' \
    "$output/sweep.tsv" | sort -g | head -n 1 | cut -d' ' -f2-
}

rm -f "$output/sweep.tsv"
for decay in ${DECAYS:-0.01 0.1}; do
  for rate in ${RATES:-1e-3 2e-3 4e-3}; do run adamw "$rate" "$decay" "${seeds[0]}" "$updates"; done
done
read -r rate decay <<< "$(best adamw)"
for muon_rate in ${MUON_RATES:-2e-3 4e-3 8e-3}; do
  run muon "$muon_rate" "$decay" "${seeds[0]}" $((updates * 3 / 4))
done
read -r muon_rate _ <<< "$(best muon)"
for seed in "${seeds[@]:1}"; do
  run adamw "$rate" "$decay" "$seed" "$updates"
  run muon "$muon_rate" "$decay" "$seed" $((updates * 3 / 4))
done
cat "$output/sweep.tsv"
for seed in "${seeds[@]}"; do
  awk -F'\t' -v seed="$seed" -v rate="$rate" -v decay="$decay" -v muon_rate="$muon_rate" '
    $4 == seed && $3 == decay && $1 == "adamw" && $2 == rate { adamw = $6; of = $5 }
    $4 == seed && $3 == decay && $1 == "muon" && $2 == muon_rate { muon = $6; after = $5 }
    END { printf "seed %d: muon %.4f after %d updates, adamw %.4f after %d\n", seed, muon, after, adamw, of }' \
    "$output/sweep.tsv"
done
