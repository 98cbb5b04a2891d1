#!/usr/bin/env bash
# Compares encoders on CAIL2019-SCM, whose task is to tell which of two cases is nearer to a third one (Su et al. 2021,
# table 5): pretrains an encoder per arm, fine-tunes it on five folds, and scores it with pairs cut at several lengths.
#   tools/experiments/cail_scm.sh TRIPLETS TEXT OUTPUT [OPTIONS OF gyre train match]...
# TRIPLETS: JSON lines with the texts A, B, C. TEXT: the text that the encoders are pretrained on. OUTPUT gets all runs,
# scores.tsv and table.txt. Environment:
#   ARMS="roformer wobert nezha bert"   encoders of table 3, with their tokens: words, words, characters, characters;
#                                       roformer-characters and the like have other tokens: words, pieces, characters
#   DICTIONARY=FILE                     jieba's, for the arms of words
#   CUTS="512 1024"                     longest pairs; wobert and bert have 512 learned positions and no more
#   FOLDS=5, SIZE=mini, PIECES=8000     folds; size of the encoders; size of the vocabularies
#   SEED=1, RANKS=2
#   PRETRAIN="--max-length 512 --mini-batch 16 --learn-rate 3e-4 --after 2Ku"
#                                       options of gyre train mlm; a line is a document unless they contain --documents
#   PRETRAIN_ROFORMER=$PRETRAIN         those of roformer, for example --config FILE with stages
# Existing results are kept, so the script resumes.
set -euo pipefail
shopt -s inherit_errexit
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 3 ]; then
  sed -n '4,16s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
triplets=$1
text=$2
output=$3
shift 3
gyre=${GYRE:-build/gyre}
arms=${ARMS:-roformer wobert nezha bert}
cuts=${CUTS:-512 1024}
folds=${FOLDS:-5}
size=${SIZE:-mini}
pieces=${PIECES:-8000}
seed=${SEED:-1}
launch=("$here/../scripts/mpirun.sh" -n "${RANKS:-2}" "$gyre")
read -r -a pretrain <<< "${PRETRAIN:---max-length 512 --mini-batch 16 --learn-rate 3e-4 --after 2Ku}"
read -r -a pretrain_roformer <<< "${PRETRAIN_ROFORMER:-${pretrain[*]}}"

# Words as in WoBERT, pieces of SentencePiece, or characters as in BERT.
tokens_of() {
  case $1 in
    *-*) echo "${1#*-}" ;;
    roformer | wobert) echo words ;;
    nezha | bert) echo characters ;;
  esac
}
# Sets $vocabulary to the options of gyre vocab. Fails for tokens of another name.
set_vocabulary() { # TOKENS
  case $1 in
    words) vocabulary=(--type wobert --size "$pieces" --dictionary "${DICTIONARY-}") ;;
    pieces) vocabulary=(--type unigram --size "$pieces" --user-symbols "[MASK]") ;;
    characters) vocabulary=(--type wordpiece --size "$pieces" --limit-alphabet "$pieces") ;;
    *) return 1 ;;
  esac
}
longest_of() {
  case $1 in
    roformer | roformer-* | nezha | nezha-*) echo 1000000 ;;
    wobert | wobert-* | bert | bert-*) echo 512 ;;
  esac
}
for arm in $arms; do
  if [ -z "$(longest_of "$arm")" ] || ! set_vocabulary "$(tokens_of "$arm")"; then
    echo "ARMS: expected roformer, wobert, nezha or bert, also with -words, -pieces or -characters, got $arm" >&2
    exit 2
  fi
done
for arm in $arms; do
  if [ "$(tokens_of "$arm")" = words ] && [ ! -r "${DICTIONARY-}" ]; then
    echo "DICTIONARY: expected jieba's dictionary for the arms of words, got '${DICTIONARY-}'" >&2
    exit 2
  fi
done
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

# Makes the vocabulary of an arm and pretrains its encoder, unless that has been done.
pretrain_arm() { # ARM
  local tokens vocabulary name family=${1%%-*} options=("${pretrain[@]}")
  tokens=$(tokens_of "$1")
  set_vocabulary "$tokens"
  name=$output/vocab-$tokens
  [ "$tokens" = characters ] && name+=.txt || name+=.model
  if [ ! -e "$name" ]; then "$gyre" vocab --input "$text" "${vocabulary[@]}" --output "$name"; fi
  if [ "$family" = roformer ]; then options=("${pretrain_roformer[@]}"); fi
  "${launch[@]}" train mlm --documents line "${options[@]}" --preset "$family-$size" --train-sets "$text" --vocab "$name" \
    --model "$output/$1" --seed "$seed" --quiet
  check_ended "$output/$1"
}

# One row per run: arm, cut, fold, accuracy on the validation and on the test set.
for arm in $arms; do
  pretrain_arm "$arm" >&2
  for cut in $cuts; do
    if [ "$cut" -gt "$(longest_of "$arm")" ]; then continue; fi
    for ((fold = 0; fold < folds; fold++)); do
      run=$output/$arm-$cut-$fold
      set_=$output/folds/$fold
      "${launch[@]}" train match --config "$here/../recipes/scm-match.toml" --pretrained-model "$output/$arm" \
        --train-sets "$set_.train.jsonl" --valid-sets "$set_.valid.jsonl" --max-length "$cut" --model "$run" --seed "$seed" \
        --quiet "$@" >&2
      check_ended "$run"
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
