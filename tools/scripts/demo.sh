#!/usr/bin/env bash
# Demonstrates the workflow from text to BLEU in minutes: generates the synthetic corpus, trains on two ranks,
# translates the held-out sentences, scores them and draws the loss curve.
#   tools/scripts/demo.sh [PROGRAM] [DIRECTORY]
set -euo pipefail
here=$(dirname "$0")
gyre=${1:-build/gyre}
out=${2:-demo}
started=$SECONDS
step() { printf '\n== %s\n' "$*"; }

rm -rf "$out/run"
mkdir -p "$out"

step "generating the synthetic corpus: numbers, dates, clock times, prices, measures"
"$gyre" data generate --output "$out" --seed 1 --train 200000 --val 300 --test 500
head -n 2 "$out/train.en" "$out/train.de"

step "training a joint vocabulary"
"$gyre" vocab --input "$out/train.en" "$out/train.de" --type unigram --size 1000 --sample-lines 20000 --character-coverage 1 \
  --output "$out/vocab.model"

step "training under mpirun -n 2"
"$here/mpirun.sh" -n 2 "$gyre" train nmt --config "$here/../recipes/demo.toml" \
  --train-sets "$out/train.en" "$out/train.de" --valid-sets "$out/val.en" "$out/val.de" \
  --vocab "$out/vocab.model" --model "$out/run"

step "translating 500 held-out sentences"
"$gyre" translate --model "$out/run" --beam-size 4 < "$out/test.en" > "$out/hyp.de"

step "ten translations"
paste "$out/test.en" "$out/hyp.de" "$out/test.de" | awk -F '\t' 'NR % 50 == 1 {
  print "source:     " $1
  print "hypothesis: " $2 ($2 == $3 ? "   = reference" : "\nreference:  " $3)
  print ""
}'

step "scores"
"$gyre" evaluate bleu --reference "$out/test.de" < "$out/hyp.de"
"$gyre" evaluate exact-match --reference "$out/test.de" < "$out/hyp.de"

"$gyre" plot --model "$out/run" --output "$out/curve.png"
printf '\nloss curve: %s\n%d seconds in total\n' "$out/curve.png" $((SECONDS - started))
