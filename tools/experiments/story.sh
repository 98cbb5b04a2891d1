#!/usr/bin/env bash
# Trains language models on stories for an hour each and prints what they write as they learn: a small LLaMA with AdamW,
# the same with Muon, and a GPT-2 of the same size (learned positions, LayerNorm, GELU).
#   tools/experiments/story.sh TEXT OUTPUT [OPTIONS OF gyre train lm]...
# TEXT: documents separated by blank lines. OUTPUT gets runs llama/, muon/ and gpt2/, curves.png and losses.tsv (run,
# updates, trained seconds, loss). Environment: ARMS="llama muon gpt2", MINUTES=60 for each, RANKS=1 (the threads share
# the cores), PIECES=4000 (of the vocabulary), PROMPT="It was", SEED=1, and UPDATES (of each run, instead of MINUTES).
# Existing results are kept, so the script resumes.
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '4,8s/^# *//p' "$0" >&2
  exit 2
fi
text=$1
output=$2
shift 2
options=("$@")
gyre=${GYRE:-build/gyre}
ranks=${RANKS:-1}
arms=${ARMS:-llama muon gpt2}
shopt -s inherit_errexit
minutes=${MINUTES:-60}
slices=6  # of a run, with a sample after each
mkdir -p "$output"

# The learning rates of the LLaMA are the best of optimizer_sweep.sh.
declare -A model=(
  [llama]="--preset llama-tiny --learn-rate 5e-4"
  [muon]="--preset llama-tiny --learn-rate 2e-3 --optimizer muon"
  [gpt2]="--preset gpt2-small --layers 6 --dim-emb 384 --transformer-heads 6 --transformer-dim-ffn 1536 --learn-rate 5e-4"
)

[ -e "$output/tokenizer.json" ] ||
  "$gyre" vocab --type byte-bpe --input "$text" --size "${PIECES:-4000}" --output "$output/tokenizer.json"
[ -e "$output/text.tok" ] ||
  "$gyre" data build --vocab "$output/tokenizer.json" --source "$text" --documents blank-line --output "$output/text.tok"

# train ARM RUN [OPTIONS]...
train() {
  local arm=$1 run=$2
  shift 2
  # shellcheck disable=SC2086  # the options of an arm are words
  "$here/../scripts/mpirun.sh" -n "$ranks" "$gyre" train lm --config "$here/../recipes/story.toml" ${model[$arm]} \
    --train-sets "$output/text.tok" --vocab "$output/tokenizer.json" --seed "${SEED:-1}" --model "$run" \
    "${options[@]}" "$@"
  check_ended "$run"
}

# The updates that fit into the minutes, by the time of the last 20 of 40 updates. Arms differ in speed; each has the
# whole schedule within its time.
updates_of() {
  local arm=$1
  if [ ! -e "$output/$arm.updates" ]; then
    rm -rf "$output/speed"
    train "$arm" "$output/speed" --after 40u --disp-freq 20u --quiet
    sed -n 's/.*"event":"train".*"seconds":\([0-9.]*\).*/\1/p' "$output/speed/metrics.jsonl" |
      awk -v minutes="$minutes" '{ before = now; now = $1 }
        END { if (NR != 2) exit 1; printf("%d\n", minutes * 60 * 20 / (now - before)) }' > "$output/$arm.part"
    mv "$output/$arm.part" "$output/$arm.updates"
    rm -rf "$output/speed"
  fi
  cat "$output/$arm.updates"
}

runs=()
for arm in $arms; do
  updates=${UPDATES:-$(updates_of "$arm")}
  for slice in $(seq $slices); do
    until=$((updates * slice / slices))
    train "$arm" "$output/$arm" --total-updates "$updates" --after "${until}u" --valid-freq "$(((updates + 23) / 24))u"
    echo "--- $arm after $until of $updates updates:"
    "$gyre" generate --model "$output/$arm" --checkpoint last --prompt "${PROMPT:-It was}" --max-tokens 80 \
      --temperature 0.8 --top-p 0.95 --seed 1
    echo
  done
  runs+=("$output/$arm")
done
"$gyre" plot --model "${runs[@]}" --no-train --output "$output/curves.png"

for run in "${runs[@]}"; do
  sed -n "s/.*\"event\":\"valid\",\"updates\":\([0-9]*\),\"loss\":\([0-9.]*\).*\"seconds\":\([0-9.]*\).*/${run##*/}\t\1\t\3\t\2/p" \
    "$run/metrics.jsonl"
done > "$output/losses.tsv"
awk -F'\t' '{ updates[$1] = $2; seconds[$1] = $3; loss[$1] = $4 }
  END { for (run in loss) printf "%s: loss %.4f after %d updates, %.1f minutes\n", run, loss[run], updates[run], seconds[run] / 60 }' \
  "$output/losses.tsv" | sort
# The first update at which Muon has the last loss of AdamW.
awk -F'\t' '$1 == "llama" { adamw = $4; of = $2 } $1 == "muon" { at[++n] = $2; loss[n] = $4 }
  END { for (i = 1; i <= n && of > 0; ++i) if (loss[i] <= adamw) {
          printf "muon reaches the loss of AdamW after %.0f %% of its updates\n", 100 * at[i] / of; exit } }' \
  "$output/losses.tsv"
echo "on the cores of several machines: RANKS=16 tools/experiments/story.sh $text $output-16, under a scheduler's allocation,"
echo "or one arm by itself:             mpirun -n 16 $gyre train lm --config $output/llama/train.toml --model $output/wide"
