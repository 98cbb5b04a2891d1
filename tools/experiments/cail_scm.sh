#!/usr/bin/env bash
# Compares encoders on CAIL2019-SCM, whose task is to tell which of two cases is nearer to a third one (Su et al. 2021,
# table 5): pretrains an encoder per arm, fine-tunes it on five folds, and scores it with pairs cut at several lengths.
#   tools/experiments/cail_scm.sh TRIPLETS TEXT OUTPUT [OPTIONS OF gyre train match]...
# TRIPLETS: JSON lines with the texts A, B, C. TEXT: what the encoders are pretrained on, a text per line. OUTPUT gets
# all runs, scores.tsv and table.txt. Environment: DICTIONARY=FILE (jieba's, for the arms of words),
# ARMS="roformer-words bert-words bert-characters", CUTS="512 1024" (bert: 512 at most), FOLDS=5, SIZE=mini (of the encoders), PIECES=8000 (of the vocabularies), SEED=1, RANKS=2,
# PRETRAIN="--after 2Ku" (options of gyre train mlm). Existing results are kept, so the script resumes.
set -euo pipefail
shopt -s inherit_errexit
here=$(dirname "$0")
if [ $# -lt 3 ]; then
  sed -n '4,9s/^# *//p' "$0" >&2
  exit 2
fi
triplets=$1
text=$2
output=$3
shift 3
gyre=${GYRE:-build/gyre}
arms=${ARMS:-roformer-words bert-words bert-characters}
cuts=${CUTS:-512 1024}
folds=${FOLDS:-5}
size=${SIZE:-mini}
pieces=${PIECES:-8000}
seed=${SEED:-1}
launch=("$here/../scripts/mpirun.sh" -n "${RANKS:-2}" "$gyre")
read -r -a pretrain <<< "${PRETRAIN:---after 2Ku}"

# The vocabulary, the preset and the longest pair of each arm: words as in WoBERT, pieces of SentencePiece, or BERT's,
# in which every Chinese character is a token. bert-words is WoBERT. BERT has 512 learned positions, and no more.
vocabulary_of() {
  case $1 in
    *-words) echo "--type wobert --size $pieces --dictionary ${DICTIONARY-}" ;;
    *-pieces) echo "--type unigram --size $pieces --user-symbols [MASK]" ;;
    *-characters) echo "--type wordpiece --size $pieces" ;;
  esac
}
preset_of() {
  case $1 in
    roformer-*) echo "roformer-$size" ;;
    bert-*) echo "bert-$size" ;;
  esac
}
longest_of() {
  case $1 in
    roformer-*) echo 1000000 ;;
    bert-*) echo 512 ;;
  esac
}
for arm in $arms; do
  if [ -z "$(vocabulary_of "$arm")" ] || [ -z "$(preset_of "$arm")" ]; then
    echo "ARMS: expected roformer- or bert- with words, pieces or characters, got $arm" >&2
    exit 2
  fi
done
case $arms in
  *-words*) [ -r "${DICTIONARY-}" ] || { echo "DICTIONARY: expected jieba's dictionary for the arms of words, got '${DICTIONARY-}'" >&2 && exit 2; } ;;
esac
[ "$folds" -ge 3 ] || { echo "FOLDS: expected at least 3, got $folds" >&2; exit 2; }

# Fold k has every triplet whose number is k modulo the number of folds. It is the test set of run k, fold k + 1 is its
# validation set, and the others are its training set (with five folds 6:2:2, as in the paper).
mkdir -p "$output/folds"
for ((fold = 0; fold < folds; fold++)); do
  awk -v folds="$folds" -v fold="$fold" -v out="$output/folds/$fold" '
    { part = (NR - 1 - fold + folds) % folds
      print > (out (part == 0 ? ".test.jsonl" : part == 1 ? ".valid.jsonl" : ".train.jsonl")) }' "$triplets"
done

accuracy() { # accuracy RUN TEST: prints that of the best checkpoint
  "$gyre" evaluate match --model "$1" --input "$2" --json 2> "$1/test.log" | sed -n 's/.*"accuracy":\([0-9.e-]*\).*/\1/p'
}

# One row per run: arm, cut, fold, accuracy on the validation and on the test set.
for arm in $arms; do
  read -r -a vocabulary <<< "$(vocabulary_of "$arm")"
  name=vocab-${arm#*-}
  [ "${vocabulary[1]}" = wordpiece ] && name+=.txt || name+=.model
  if [ ! -e "$output/$name" ]; then
    "$gyre" vocab --input "$text" "${vocabulary[@]}" --output "$output/$name" >&2
  fi
  "${launch[@]}" train mlm --preset "$(preset_of "$arm")" --train-sets "$text" --documents line --vocab "$output/$name" \
    --max-length 512 --mini-batch 16 --learn-rate 3e-4 --model "$output/$arm" --seed "$seed" --quiet "${pretrain[@]}" >&2
  for cut in $cuts; do
    if [ "$cut" -gt "$(longest_of "$arm")" ]; then continue; fi
    for ((fold = 0; fold < folds; fold++)); do
      run=$output/$arm-$cut-$fold
      set_=$output/folds/$fold
      "${launch[@]}" train match --config "$here/../recipes/scm-match.toml" --pretrained-model "$output/$arm" \
        --train-sets "$set_.train.jsonl" --valid-sets "$set_.valid.jsonl" --max-length "$cut" --model "$run" --seed "$seed" \
        --quiet "$@" >&2
      valid=$(accuracy "$run" "$set_.valid.jsonl")
      test=$(accuracy "$run" "$set_.test.jsonl")
      printf '%s\t%s\t%s\t%s\t%s\n' "$arm" "$cut" "$fold" "$valid" "$test"
    done
  done
done | tee "$output/scores.tsv"

# The mean over the folds and the sample's standard deviation, in percent.
awk -F '\t' '
  { key = $1 "\t" $2
    if (!(key in n)) order[++rows] = key
    n[key]++; sum[key] += $5; squares[key] += $5 * $5 }
  END {
    printf "%-22s %6s %6s %10s %10s\n", "arm", "cut", "folds", "accuracy", "deviation"
    for (i = 1; i <= rows; i++) {
      key = order[i]; split(key, part, "\t"); mean = sum[key] / n[key]
      variance = n[key] > 1 ? (squares[key] - n[key] * mean * mean) / (n[key] - 1) : 0
      printf "%-22s %6s %6d %9.2f%% %9.2f%%\n", part[1], part[2], n[key], 100 * mean, 100 * sqrt(variance > 0 ? variance : 0)
    }
  }' "$output/scores.tsv" | tee "$output/table.txt"
