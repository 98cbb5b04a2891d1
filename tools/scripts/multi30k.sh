#!/usr/bin/env bash
# Trains a translation model on Multi30k: vocabulary, training on RANKS (2) ranks, translation of the test set, BLEU.
#   tools/scripts/multi30k.sh DATA RUN [OPTIONS OF gyre train nmt]...
# DATA contains train.en, train.de, val.en, val.de and test_2016_flickr.en, test_2016_flickr.de.
set -euo pipefail
here=$(dirname "$0")
. "$here/../experiments/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '3,4s/^# *//p' "$0" >&2
  exit 2
fi
data=$1
run=$2
shift 2
gyre=${GYRE:-build/gyre}
ranks=${RANKS:-2}
test=$data/test_2016_flickr

mkdir -p "$run"
if [ ! -e "$run/joint.model" ]; then
  "$gyre" vocab --input "$data/train.en" "$data/train.de" --type bpe --size 10000 --output "$run/joint.model"
fi
launcher=()
[ "$ranks" -eq 1 ] || launcher=("$here/mpirun.sh" -n "$ranks")
"${launcher[@]}" "$gyre" train nmt --config "$here/../recipes/multi30k-tiny.toml" \
  --train-sets "$data/train.en" "$data/train.de" --valid-sets "$data/val.en" "$data/val.de" \
  --vocab "$run/joint.model" --model "$run" "$@"
check_ended "$run"
"$gyre" translate --model "$run" --beam-size 4 --length-penalty 0.6 < "$test.en" > "$run/hyp.de"
"$gyre" evaluate bleu --reference "$test.de" < "$run/hyp.de"
"$gyre" plot --model "$run" --output "$run/curve.png"
