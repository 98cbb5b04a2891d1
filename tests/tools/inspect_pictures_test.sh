#!/usr/bin/env bash
# Tests gyre inspect rope and receptive-field: their numbers, their pictures, and the errors of wrong calls.
. "$(dirname "$0")/lib.sh"
below() { # below WHAT A B: A < B
  awk -v a="$2" -v b="$3" 'BEGIN { exit !(a + 0 < b + 0) }' || fail "$1: $2 is not below $3"
  echo "ok: $1 ($2 < $3)"
}
numbers() { grep -oE "\"$1\":[0-9.e+-]+" "$2" | grep -oE '[0-9.e+-]+$'; } # numbers KEY FILE: prints one value per line

# RoPE: the first pair rotates by one radian per position; all deviations are rounding errors.
"$GYRE" inspect rope > rope.txt
same "all checks pass" "$(grep -c ' passed$' rope.txt) $(grep -c FAILED rope.txt || true)" "5 0"
check "an angle" grep -qE '^ +1 +0,1 +1 +1 +0\.540302 +0\.841471$' rope.txt
check "a row of the matrix and of its transpose" \
  grep -qE '^  0\.540 -0\.841  0\.000  0\.000      0\.540  0\.841  0\.000  0\.000$' rope.txt
for options in "--dim 8 --rope-pairs half-split --positions 0,3,1000" "--dim 6 --rotary-dims 4 --rope-step 0.5" \
  "--dim 16 --rope-scaling yarn --rope-scaling-factor 4 --positions 7 200" \
  "--dim 64 --rope-base 500000 --positions 4096"; do
  "$GYRE" inspect rope $options --json > rope.json
  contains '^\{"dim":[0-9]+,"rotary_dims":[0-9]+,"pairs":"(interleaved|half-split)",.*"passed":true\}$' < rope.json ||
    fail "$options: $(cat rope.json)"
  below "$options: the worst deviation" "$(numbers deviation rope.json | head -n 4 | sort -g | tail -n 1)" 1e-11
  below "$options: the worst error of a frequency's gradient" "$(numbers error rope.json | sort -g | tail -n 1)" 1e-6
done
check "YaRN's factor" grep -qE 'R\^T R x = 1\.296' <("$GYRE" inspect rope --rope-scaling yarn --rope-scaling-factor 4)
"$GYRE" inspect rope --dim 8 --positions 0,1,2,3,4,5 --plot rope.svg > /dev/null
picture "the rotation" rope.svg
rejects 2 '--dim: expected an even number if all features rotate \(--rotary-dims 0\), got 7' "$GYRE" inspect rope --dim 7
rejects 2 '--dim: expected 2 to 512, got 0' "$GYRE" inspect rope --dim 0
rejects 2 '--positions: expected an integer, got ..$' "$GYRE" inspect rope --positions ''
rejects 2 '--positions: expected 1 to 64 of them, got 100' "$GYRE" inspect rope --positions $(seq 100)
rejects 2 '--positions: expected whole numbers from 0 to 32768, got -1' "$GYRE" inspect rope --positions=3,-1
rejects 2 'rotary dims must be even, got 3' "$GYRE" inspect rope --rotary-dims 3
rejects 2 'base must be positive, got -1' "$GYRE" inspect rope --rope-base=-1
rejects 2 '--rope-scaling-factor would have no effect' "$GYRE" inspect rope --rope-scaling-factor 4
rejects 2 '--plot: expected a name that ends in .png or .svg, got rope.pdf' "$GYRE" inspect rope --plot rope.pdf

# Untrained models: ALiBi's slopes act as a window; rotating random queries and keys has no effect.
field() { "$GYRE" inspect receptive-field --output field.svg "$@"; }
small="--layers 2 --dim-emb 32 --transformer-heads 4 --transformer-dim-ffn 64"
field --position none,alibi,rope $small --length 256 --samples 3 --json --data field.json > fresh.json
contains '^\{"length":256,"samples":3,"models":\[\{"name":"none, random weights","position":"none","length":256,"trained_length":null,"last_token":[0-9.]+,"distance_50":[0-9]+,"distance_90":[0-9]+,"distance_99":[0-9]+,"beyond_training":null\},.*\]\}$' < fresh.json ||
  fail "the summary: $(cat fresh.json)"
mapfile -t half < <(numbers distance_50 fresh.json)
mapfile -t far < <(numbers distance_90 fresh.json)
below "ALiBi has half of the gradient at much shorter distances than no encoding" "$((half[1] * 3))" "${half[0]}"
below "and 90 %" "${far[1]}" "${far[0]}"
below "RoPE does not" "$((half[0] * 8 / 10))" "${half[2]}"
picture "the receptive fields" field.svg
same "a number for each distance" "$(grep -oE '"cumulative":\[[^]]*' field.json | awk -F, '{ print NF }' | paste -sd' ')" "256 256 256"
grep -oE '"cumulative":\[[^]]*' field.json | sed 's/.*\[//' |
  awk -F, '{ for (i = 2; i <= NF; ++i) if ($i < $(i - 1)) exit 1; if ($NF < 0.999999 || $NF > 1.000001) exit 1 }' ||
  fail "a curve decreases or does not end at 1"

# Trained models: beyond the training length, and up to the end of a position table.
from_corpus train.en vocab.model
train() { # train POSITION OPTIONS
  "$GYRE" train lm --train-sets train.en --vocab vocab.model --model "$1" --position "$@" --after 2u --max-length 32 \
    --mini-batch-words 128 $small --threads 1 --quiet
}
train rope
train learned --max-positions 32
field --model rope learned --input train.en --samples 2 --json --data field.json > trained.json
same "four times the training length, or all positions" "$(grep -oE '"length":[0-9]+' trained.json | paste -sd' ')" \
  '"length":128 "length":128 "length":32'
wanted=$(grep -oE '"cumulative":\[[^]]*' field.json | head -n 1 | sed 's/.*\[//' | awk -F, '{ printf "%.5f", 1 - $32 }')
same "the share beyond the training length" "$(numbers beyond_training trained.json | awk '{ printf "%.5f ", $1 }')" "$wanted 0.00000 "
check "the training length is marked" grep -q 'training length 32' field.svg
field --model rope --length 48 > table.txt
check "ids drawn at random, as a table" grep -qE '^rope +48 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ % +[0-9.]+ %$' table.txt
rejects 2 'expected encodings of untrained models or trained runs, got none' field
rejects 2 'alibi' field --position alibl
rejects 2 'input would have no effect: there is no --model' field --position none --input train.en
rejects 2 'dim-emb would have no effect: there is no --position' field --model rope --dim-emb 32
rejects 2 '--samples\] expected at least 1, got 0' field --position none --samples 0
rejects 2 'heads' field --position none --dim-emb 30 --transformer-heads 4
rejects 1 'expected at least 99999 tokens of text for --length, got [0-9]+' field --model rope --input train.en --length 100000
