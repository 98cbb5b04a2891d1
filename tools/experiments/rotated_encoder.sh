#!/usr/bin/env bash
# Continues the pretraining of a BERT with rotary positions in place of its table, as the authors of RoFormer began with
# the weights of WoBERT (Su et al. 2021, 4.5.2), beside the same model with its table, and one with random weights.
#   tools/experiments/rotated_encoder.sh PRETRAINED TEXT OUTPUT [OPTIONS OF gyre train mlm]...
# PRETRAINED: a run with the architecture of BERT and vocab.txt, such as gyre import makes. TEXT: at least three
# documents separated by blank lines, of which the last two are held out. OUTPUT gets the text as token stores, runs
# <arm>/, table.md (the cross-entropy of masked tokens of the held-out text by length) and curves.svg; glue.sh can
# fine-tune the runs. Existing results are kept, so the script resumes; other trainings require another OUTPUT.
# Environment:
#   ARMS="rotated table random"  UPDATES=2000 (of 8,192 tokens)  LENGTH=512 (tokens of a sample)
#   LONG=200 (the last updates, whose samples are three times as long unless the model has a table)
#   LENGTHS="128 512 1024 1536"  TOKENS=65536 (of the held-out text, rounded down to whole blocks of the longest length)
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 3 ]; then
  sed -n '4,13s/^# *//p' "$0" >&2
  exit 2
fi
pretrained=$1 text=$2 output=$3
shift 3
gyre=${GYRE:-build/gyre}
updates=${UPDATES:-2000} long=${LONG:-200} length=${LENGTH:-512} tokens=${TOKENS:-65536}
read -ra arms <<< "${ARMS:-rotated table random}"
read -ra lengths <<< "${LENGTHS:-128 512 1024 1536}"
shopt -s inherit_errexit

size() {
  sed -nE "s/^ +\"$1\": ([0-9]+),/\1/p" "$pretrained/config.json" | grep . ||
    { echo "$pretrained/config.json: expected a number \"$1\"" >&2; return 1; }
}
if [[ " $* " == *" --max-length"* ]]; then
  echo "rotated_encoder: expected LENGTH instead of --max-length, which the stages of a run would override" >&2
  exit 2
fi
dim=$(size dim) layers=$(size layers) heads=$(size heads) ffn=$(size ffn) positions=$(size max_positions)
grep -q '^    "encoding": "learned"' "$pretrained/config.json" ||
  { echo "$pretrained: expected a model with a table of positions" >&2; exit 1; }
choose() { # ARM: sets $choice to its options
  case $1 in
    rotated) choice=(--init-from "$pretrained" --position rope) ;;
    table)
      choice=(--init-from "$pretrained")
      if [ "$positions" -lt "$length" ]; then
        echo "LENGTH: expected at most $positions, the number of positions of $pretrained, got $length" >&2
        exit 2
      fi
      ;;
    random)
      choice=(--preset bert-mini --dim-emb "$dim" --layers "$layers" --transformer-heads "$heads"
        --transformer-dim-ffn "$ffn" --position rope --vocab "$pretrained/vocab.txt")
      ;;
    *) echo "ARMS: expected some of rotated, table and random, got $1" >&2 && exit 2 ;;
  esac
}
for arm in "${arms[@]}"; do choose "$arm"; done

mkdir -p "$output"
settings="PRETRAINED=$pretrained TEXT=$text UPDATES=$updates LONG=$long LENGTH=$length $*"
check_settings "$output" "$settings"
held_out "$text" "$output"
for part in train held-out; do
  if [ ! -e "$output/$part.tok" ]; then
    "$gyre" data build --vocab "$pretrained/vocab.txt" --source "$output/$part.txt" --documents blank-line \
      --output "$output/$part.tok"
  fi
done
{
  printf '[[stage]]\nupdates = %d\nmax-length = %d\n' $((updates - long)) "$length"
  if [ "$long" -gt 0 ]; then printf '\n[[stage]]\nupdates = %d\nmax-length = %d\n' "$long" $((3 * length)); fi
} > "$output/stages.toml"

train() { # ARM RUN [OPTIONS]...
  local choice end=(--config "$output/stages.toml")
  choose "$1"
  if [ "$1" = table ]; then end=(--after "${updates}u"); fi
  "$gyre" train mlm "${choice[@]}" "${end[@]}" --train-sets "$output/train.tok" --valid-sets "$output/held-out.tok" \
    --valid-samples 128 --max-length "$length" --mini-batch-words 8192 --optimizer adamw --weight-decay 0.01 \
    --clip-norm 1 --learn-rate 5e-4 --lr-schedule linear --lr-warmup 5% --transformer-dropout 0 \
    --transformer-dropout-attention 0 --precision auto --disp-freq 50u --save-freq 200u --valid-freq 200u --keep-last 1 \
    --model "$2" "${@:3}" || return
  check_ended "$2"
}
if [ ! -e "$output/${arms[0]}" ]; then
  rm -rf "$output/trial"
  train "${arms[0]}" "$output/trial" "$@" --stop-after-minutes 20s --valid-freq 1Ku --quiet 2> "$output/trial.log" ||
    { cat "$output/trial.log" >&2; exit 1; }
  sed -nE 's/.*"event":"end","updates":([0-9]+).*"compute":([0-9.]+).*/\1 \2/p' "$output/trial/metrics.jsonl" |
    awk -v updates="$updates" -v arms="${#arms[@]}" \
      '{ printf("expected time of the trainings: %.0f minutes\n", 1 + arms * updates * $2 / $1 / 60) }' >&2
  rm -r "$output/trial" "$output/trial.log"
  keep_settings "$output" "$settings"
fi

# Other lengths or another number of tokens need other scores, but no other runs.
scored="LENGTHS=${lengths[*]} TOKENS=$tokens"
if [ ! -e "$output/scored" ] || [ "$(cat "$output/scored")" != "$scored" ]; then
  rm -f "$output"/*.json
  echo "$scored" > "$output/scored"
fi
runs=()
for arm in "${arms[@]}"; do
  run=$output/$arm
  train "$arm" "$run" "$@"
  runs+=("$run")
  if [ ! "$run.json" -nt "$run/checkpoints/last/model.safetensors" ]; then
    "$gyre" evaluate extrapolation --model "$run" --checkpoint last --input "$output/held-out.txt" --documents blank-line \
      --lengths "$(IFS=,; echo "${lengths[*]}")" --protocol full --tokens "$tokens" --precision auto --quiet --json > "$run.part"
    mv "$run.part" "$run.json"
  fi
done
{
  table_head model "${lengths[@]}"
  for arm in "${arms[@]}"; do
    printf '| %s |' "$arm"
    grep -oE '"cross_entropy":([0-9.e+-]+|null)' "$output/$arm.json" |
      awk -F: '{ if ($2 == "null") printf(" n/a |"); else printf(" %.3f |", $2) } END { print "" }'
  done
} | tee "$output/table.md"
"$gyre" plot --model "${runs[@]}" --no-train --output "$output/curves.svg"
