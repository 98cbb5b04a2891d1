#!/usr/bin/env bash
# Demonstrates the workflow from text to a scored model in minutes: generates the synthetic corpus, trains, translates the
# held-out sentences, scores them, draws the loss curve, and prints commands to try next.
#   tools/scripts/demo.sh [PROGRAM [DIRECTORY [OPTIONS OF gyre train nmt]...]]
set -euo pipefail
here=$(dirname "$0")
gyre=${1:-build/gyre}
[ $# -gt 0 ] || [ -x "$gyre" ] || gyre=gyre # an installed one
out=${2:-demo}
shift $(($# < 2 ? $# : 2))
started=$SECONDS
step() { printf '\n== %s\n' "$*"; }

rm -rf "$out/run"
mkdir -p "$out"

step "generating the synthetic corpus: numbers, dates, clock times, prices, measures"
"$gyre" data generate --output "$out" --overwrite --seed 1 --train 120000 --val 300 --test 500
head -n 2 "$out/train.en" "$out/train.de"

step "training a joint vocabulary"
"$gyre" vocab --input "$out/train.en" "$out/train.de" --type unigram --size 1500 --sample-lines 20000 --character-coverage 1 \
  --output "$out/vocab.model"

step "training a model: Cost is the loss per target token, bleu the score of 300 held-out translations"
training=$SECONDS
"$gyre" train nmt --config "$here/../recipes/demo.toml" --train-sets "$out/train.en" "$out/train.de" \
  --valid-sets "$out/val.en" "$out/val.de" --vocab "$out/vocab.model" --model "$out/run" "$@"
training=$((SECONDS - training))

step "translating 500 held-out sentences"
"$gyre" translate --model "$out/run" --beam-size 1 < "$out/test.en" > "$out/hyp.de"

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
printf '\nloss curve: %s\n%d seconds of training, %d in total\n' "$out/curve.png" $training $((SECONDS - started))

# The names as a shell reads them, for commands that can be copied.
printf -v gyre %q "$gyre"
printf -v out %q "$out"
printf -v mpirun %q "$here/mpirun.sh"
step "what to try next"
cat << END
Translate a sentence of your own, of words in $out/train.en:
    echo "My sister bought thirty-four red apples at twenty to nine." | $gyre translate --model $out/run

Look at the attention: which English words each German one reads, a picture for each head:
    $gyre plot attention --model $out/run --text "The shirt costs nine euros." --head all --output $out/attention.png

Walk through an update in a browser, op by op, forward and backward, with all numbers:
    $gyre inspect page --model $out/run --text "The shirt costs nine euros." --target "Das Hemd kostet neun Euro." --output $out/step.html

Read the report of the training in a browser:
    $gyre report --model $out/run --output $out/report.html

Continue the training for as many updates again:
    $gyre train nmt --model $out/run --after 1600u

Train with the same options and another position encoding, and compare the curves:
    $gyre train nmt --config $out/run/train.toml --position alibi --model $out/alibi
    $gyre plot --model $out/run $out/alibi --output $out/positions.png

Train on two ranks, as on two machines:
    $mpirun -n 2 $gyre train nmt --config $out/run/train.toml --model $out/ranks

Then train on text of your own: README.md, "A first training".
END
