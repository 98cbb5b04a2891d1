#!/usr/bin/env bash
# Continues the pretraining of a BERT with rotary positions in place of its table, as the authors of RoFormer began with
# the weights of WoBERT (Su et al. 2021, 4.5.2), beside the same model with its table, and one with random weights.
#   tools/experiments/rotated_encoder.sh PRETRAINED TEXT OUTPUT [OPTIONS OF gyre train mlm]...
# PRETRAINED: a run with a WordPiece vocabulary, such as gyre import makes. TEXT: at least three documents separated by
# blank lines, of which the last two are held out. OUTPUT gets runs <arm>/, curves.svg and table.md, the cross-entropy of
# masked tokens of the held-out text by length; glue.sh fine-tunes the runs. Existing results are kept, so the script
# resumes. Environment:
#   ARMS="rotated table random"  UPDATES=2000 (of 8,192 tokens)  LENGTH=512 (tokens of a sample)
#   LONG=200 (of the updates, the last, with samples three times as long if the model has no table)
#   LENGTHS="128 512 1024 1536"  TOKENS=65536 (of the held-out text, at each length)
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 3 ]; then
  sed -n '4,11s/^# *//p' "$0" >&2
  exit 2
fi
pretrained=$1 text=$2 output=$3
shift 3
gyre=${GYRE:-build/gyre}
updates=${UPDATES:-2000} long=${LONG:-200} length=${LENGTH:-512} tokens=${TOKENS:-65536}
read -ra arms <<< "${ARMS:-rotated table random}"
read -ra lengths <<< "${LENGTHS:-128 512 1024 1536}"
shopt -s inherit_errexit

size() { sed -nE "s/^  \"$1\": ([0-9]+),/\1/p" "$pretrained/config.json"; }
options_of() { # ARM
  case $1 in
    rotated) echo --init-from "$pretrained" --position rope ;;
    table) echo --init-from "$pretrained" ;;
    random)
      echo --preset bert-mini --dim-emb "$(size dim)" --layers "$(size layers)" --transformer-heads "$(size heads)" \
        --transformer-dim-ffn "$(size ffn)" --position rope --vocab "$pretrained/vocab.txt"
      ;;
    *) echo "ARMS: expected some of rotated, table and random, got $1" >&2 && exit 2 ;;
  esac
}
for arm in "${arms[@]}"; do options_of "$arm" > /dev/null; done

mkdir -p "$output"
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
  local arm=() stages=()
  read -ra arm <<< "$(options_of "$1")"
  if [ "$1" = table ]; then stages=(--after "${updates}u"); else stages=(--config "$output/stages.toml"); fi
  "$gyre" train mlm "${arm[@]}" "${stages[@]}" --train-sets "$output/train.tok" --valid-sets "$output/held-out.tok" \
    --valid-samples 128 --max-length "$length" --mini-batch-words 8192 --optimizer adamw --weight-decay 0.01 --clip-norm 1 \
    --learn-rate 5e-4 --lr-schedule linear --lr-warmup 5% --transformer-dropout 0 --transformer-dropout-attention 0 \
    --precision auto --disp-freq 50u --save-freq 200u --valid-freq 200u --keep-last 1 --model "$2" "${@:3}"
}
if [ ! -e "$output/${arms[0]}" ]; then
  train "${arms[0]}" "$output/trial" --stop-after-minutes 20s --valid-freq 1Ku --quiet "$@" 2> /dev/null
  sed -nE 's/.*"event":"end".*"updates":([0-9]+).*"compute":([0-9.]+).*/\1 \2/p' "$output/trial/metrics.jsonl" |
    awk -v updates="$updates" -v arms="${#arms[@]}" \
      '{ printf("expected time of the trainings: %.0f minutes\n", 1 + arms * updates * $2 / $1 / 60) }' >&2
  rm -rf "$output/trial"
fi
runs=()
for arm in "${arms[@]}"; do
  train "$arm" "$output/$arm" "$@"
  check_ended "$output/$arm"
  runs+=("$output/$arm")
done
"$gyre" plot --model "${runs[@]}" --no-train --output "$output/curves.svg"

score() { # ARM LENGTH
  local result=$output/$1-$2.json
  if [ ! "$result" -nt "$output/$1/checkpoints/last/model.safetensors" ]; then
    "$gyre" evaluate extrapolation --model "$output/$1" --checkpoint last --input "$output/held-out.txt" \
      --documents blank-line --lengths "$2" --protocol full --tokens "$tokens" --precision auto --quiet --json > "$result.part"
    mv "$result.part" "$result"
  fi
  sed -nE 's/.*"cross_entropy":([0-9.e+-]+|null).*/\1/p' "$result" | awk '{ printf($1 == "null" ? " n/a |" : " %.3f |", $1) }'
}
{
  printf '| model |'
  printf ' %s |' "${lengths[@]}"
  printf '\n|---|'
  printf -- '---:|%.0s' "${lengths[@]}"
  echo
  for arm in "${arms[@]}"; do
    printf '| %s |' "$arm"
    for length in "${lengths[@]}"; do score "$arm" "$length"; done
    echo
  done
} | tee "$output/table.md"
