#!/usr/bin/env bash
# Compares ways to train a translation model by BLEU and chrF on several test sets.
#   tools/experiments/translation_arms.sh DATA OUTPUT [OPTIONS OF gyre train nmt]...
# DATA: train/*.en and *.de, parallel files of plain text; tokenized/*, the same in Moses tokens, which are joined to
# plain text first; valid.en, valid.de; tests/*.en and *.de. Training pairs that contain a line of valid or tests are
# left out. OUTPUT gets runs <arm>-<seed>/, runs.tsv (millions of parameters, updates, minutes and the best validation
# loss of each), scores.tsv, paired.txt and curves.svg. Existing results are kept, so the script resumes an interrupted
# experiment. Environment:
#   ARMS="rope sinusoidal"   of rope, sinusoidal, shaw, t5, alibi, bpe-dropout (rope, p 0.1), r-drop (rope, alpha 5),
#     and sizes of a model with rope, such as 384x6x3: width, encoder and decoder layers, with heads of 64, an inner
#     width four times as large, and the learning rate 2e-3 sqrt(256 / width), because wider models need lower ones
#   SEEDS="1 2"  RANKS=2  RECIPE=translation-small (of tools/recipes)  PIECES=8000 (of the vocabulary)
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '3,12s/^# *//p' "$0" >&2
  exit 2
fi
data=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
arms=${ARMS:-rope sinusoidal}
shopt -s nullglob inherit_errexit

options_of() {
  case $1 in
    rope | sinusoidal | shaw | t5 | alibi) echo --position "$1" ;;
    bpe-dropout) echo --position rope --bpe-dropout 0.1 ;;
    r-drop) echo --position rope --r-drop 5 ;;
    [1-9]*x*)
      [[ $1 =~ ^([1-9][0-9]*)x([1-9][0-9]*)x([1-9][0-9]*)$ && $((BASH_REMATCH[1] % 64)) -eq 0 ]] ||
        { echo "ARMS: expected a size such as 384x6x3, whose width is a multiple of 64, got $1" >&2; exit 2; }
      echo --position rope --dim-emb "${BASH_REMATCH[1]}" --transformer-dim-ffn $((4 * BASH_REMATCH[1])) \
        --transformer-heads $((BASH_REMATCH[1] / 64)) --enc-depth "${BASH_REMATCH[2]}" --dec-depth "${BASH_REMATCH[3]}" \
        --learn-rate "$(awk -v width="${BASH_REMATCH[1]}" 'BEGIN { print 2e-3 * sqrt(256 / width) }')"
      ;;
    *) echo "ARMS: expected rope, sinusoidal, shaw, t5, alibi, bpe-dropout, r-drop or a size such as 256x6x3, got $1" >&2 && exit 2 ;;
  esac
}
for arm in $arms; do options_of "$arm" > /dev/null; done

settings="DATA=$data RECIPE=${RECIPE:-translation-small} PIECES=${PIECES:-8000}"
check_settings "$output" "$settings"

prepare() { # writes $output/train.en and train.de
  local language file excluded=()
  mkdir -p "$output/plain"
  for language in en de; do
    for file in "$data"/tokenized/*."$language"; do
      "$gyre" data detokenize --language "$language" --input "$file" --output "$output/plain/$(basename "$file")"
    done
  done
  for file in "$data"/valid.en "$data"/valid.de "$data"/tests/*; do excluded+=("$file"); done
  local sources=("$data"/train/*.en) targets=("$data"/train/*.de)
  for file in "$output"/plain/*.en; do sources+=("$file") && targets+=("${file%.en}.de"); done
  "$gyre" data clean --source "${sources[@]}" --target "${targets[@]}" --output-source "$output/train.en" \
    --output-target "$output/train.de" --remove-duplicates --exclude "${excluded[@]}"
}

if [ ! -e "$output/train.de" ]; then prepare; fi # a function in a condition would ignore its failing commands
if [ ! -e "$output/vocab.model" ]; then
  "$gyre" vocab --input "$output/train.en" "$output/train.de" --type bpe --size "${PIECES:-8000}" --output "$output/vocab.model"
fi
keep_settings "$output" "$settings"

train() { # ARM SEED [OPTIONS]...
  local run=$output/$1-$2 launcher=() arm=()
  [ "${RANKS:-2}" -eq 1 ] || launcher=("$here/../scripts/mpirun.sh" -n "${RANKS:-2}")
  read -ra arm <<< "$(options_of "$1")"
  "${launcher[@]}" "$gyre" train nmt --config "$here/../recipes/${RECIPE:-translation-small}.toml" \
    --train-sets "$output/train.en" "$output/train.de" --valid-sets "$data/valid.en" "$data/valid.de" \
    --vocab "$output/vocab.model" --model "$run" --seed "$2" "${arm[@]}" "${@:3}"
  check_ended "$run"
}

translate() { # RUN TEST: unless it is done and the run has not been continued since
  local hypotheses=$1/$(basename "$2").hyp
  [ "$hypotheses" -nt "$1/checkpoints/last/model.safetensors" ] && [ "$hypotheses" -nt "$2.en" ] && return
  "$gyre" translate --model "$1" --checkpoint last --beam-size 4 --length-penalty 0.6 --input "$2.en" \
    --output "$hypotheses.part"
  mv "$hypotheses.part" "$hypotheses"
}

tests=()
for file in "$data"/tests/*.en; do tests+=("${file%.en}"); done
runs=()
for seed in ${SEEDS:-1 2}; do
  for arm in $arms; do
    train "$arm" "$seed" "$@"
    runs+=("$output/$arm-$seed")
    for test in "${tests[@]}"; do translate "$output/$arm-$seed" "$test"; done
  done
done
"$gyre" plot --model "${runs[@]}" --no-train --output "$output/curves.svg"

for run in "${runs[@]}"; do
  parameters=$(sed -n 's/.*, \([0-9.]*\) M parameters.*/\1/p' "$run/train.log" | tail -n 1)
  end=$(sed -nE '$s/.*"updates":([0-9]+).*"best":\{[^}]*"cross-entropy":([0-9.]+).*"seconds":([0-9.]+).*/\1 \3 \2/p' \
    "$run/metrics.jsonl" | awk '{ printf "%d\t%.0f\t%.3f", $1, $2 / 60, $3 }')
  [ -n "$end" ] || { echo "$run/metrics.jsonl: expected the best cross-entropy in the last line" >&2; exit 1; }
  printf '%s\t%s\t%s\n' "${run##*/}" "$parameters" "$end"
done | tee "$output/runs.tsv"

score() { # METRIC RUN TEST
  local json
  json=$("$gyre" evaluate "$1" --reference "$3.de" --input "$2/$(basename "$3").hyp" --json)
  sed -E "s/.*\"$1\":([0-9.]+).*/\1/" <<< "$json"
}

# One row per run and test set.
for run in "${runs[@]}"; do
  for test in "${tests[@]}"; do
    bleu=$(score bleu "$run" "$test")
    chrf=$(score chrf "$run" "$test")
    printf '%s\t%s\t%.2f\t%.2f\n' "${run##*/}" "$(basename "$test")" "$bleu" "$chrf"
  done
done | tee "$output/scores.tsv"

# Every arm against the first one, seed by seed.
for seed in ${SEEDS:-1 2}; do
  for test in "${tests[@]}"; do
    name=$(basename "$test")
    inputs=()
    for arm in $arms; do inputs+=("$output/$arm-$seed/$name.hyp"); done
    if [ ${#inputs[@]} -eq 1 ]; then continue; fi
    for metric in bleu chrf; do
      "$gyre" evaluate $metric --reference "$test.de" --input "${inputs[@]}" --paired bootstrap
    done
  done
done | tee "$output/paired.txt"
