#!/usr/bin/env bash
# Tests tools/experiments/translation_arms.sh on a tiny corpus: all arms, and a repetition with more training; and
# translation_million.sh, which prepares data for it.
. "$(dirname "$0")/../lib.sh"
command -v gnuplot > /dev/null || skip_test translation_arms "gnuplot is not installed"
arms=$ROOT/tools/experiments/translation_arms.sh
small_corpus
mkdir -p data/{train,tokenized,tests} out
for language in en de; do
  { head -n 200 train.$language && sed -n 3p test.$language; } > data/train/a.$language
  sed -n '201,400p' train.$language > plain.$language
  "$GYRE" data tokenize --language $language --input plain.$language --output data/tokenized/b.$language 2> /dev/null
  cp val.$language data/valid.$language
  cp test.$language data/tests/t.$language
done
cp vocab.model out # 8,000 pieces are too many for this corpus
export SEEDS=1 RANKS=1
run() { # UPDATES ARM...
  ARMS="${*:2}" "$arms" data out --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 \
    --mini-batch-words 300 --after "$1u" --save-freq 4u --valid-freq 4u --threads 1 --quiet > log 2>&1 || { cat log; fail "arms ${*:2}"; }
}

rejects 2 '^SEEDS="1 2"' "$arms" data
for size in 100x1x1 64x0x1 64x1x1x1 64x1x1a; do
  ARMS=$size rejects 2 "ARMS: expected a size such as 384x6x3, whose width is a multiple of 64, got $size" "$arms" data out
done
ARMS=box rejects 2 'ARMS: expected rope, .*, got box' "$arms" data out
ARMS="rope xl" rejects 2 'ARMS: expected rope, .*, got xl' "$arms" data out
check "an unknown arm starts nothing" test ! -e out/train.en

run 4 rope sinusoidal bpe-dropout r-drop
same "training pairs without the one of the test set" "$(wc -l < out/train.en)" 400
check "text is joined" cmp <(tail -n 200 out/train.de) plain.de
same "runs" "$(cut -f 1,2 out/scores.tsv | tr '\t\n' '  ')" "rope-1 t sinusoidal-1 t bpe-dropout-1 t r-drop-1 t "
same "paired scores" "$(grep -cE '(sacreBLEU|chrF2)\|.*\(p = ' out/paired.txt)" 6
check "the arms" grep -q '^bpe-dropout = 0.1' out/bpe-dropout-1/train.toml
check "the arms" grep -q '^r-drop = 5' out/r-drop-1/train.toml
check "a picture" test -s out/curves.svg

PIECES=300 rejects 2 'out has results of other settings: DATA=data RECIPE=translation-small PIECES=8000' "$arms" data out
cp -p out/rope-1/t.hyp before
run 4 rope
check "translations are kept" test ! out/rope-1/t.hyp -nt before
run 4 t5
check "another encoding" grep -q '^position = "t5"$' out/t5-1/train.toml
same "the list of runs" "$(sed -E 's/[0-9]+\.[0-9]+/F/g' out/runs.tsv)" "t5-1	F	4	0	F"
ARMS=192x2x1 "$arms" data out --mini-batch-words 300 --after 4u --save-freq 4u --valid-freq 4u --threads 1 --quiet > log 2>&1 || { cat log; fail "a size"; }
same "the options of a size" "$(grep -E '^(dim-emb|(enc|dec)-depth|transformer-heads|transformer-dim-ffn|learn-rate) = ' out/192x2x1-1/train.toml | paste -sd,)" \
  "dim-emb = 192,enc-depth = 2,dec-depth = 1,transformer-heads = 3,transformer-dim-ffn = 768,learn-rate = 0.0023094"
run 8 rope
check "a run that continued is translated anew" test out/rope-1/t.hyp -nt before

# A step that fails ends the script.
failing_at() { # WORD: a program that fails in the commands that contain it
  printf '#!/bin/sh\ncase "$*" in *%s*) echo "no %s" >&2; exit 1 ;; esac\nexec "%s" "$@"\n' "$1" "$1" "$GYRE" > "at_$1"
  chmod +x "at_$1"
}
failing_at evaluate && failing_at detokenize
failing() { # PROGRAM OUTPUT
  ARMS=rope GYRE=$PWD/$1 "$arms" data "$2" --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 \
    --dec-depth 1 --mini-batch-words 300 --after 8u --save-freq 4u --valid-freq 4u --threads 1 --quiet
}
rejects 1 'no evaluate' failing at_evaluate out
rejects 1 'no detokenize' failing at_detokenize other
check "no training without all text" test ! -e other/rope-1

# Pairs by set, weighted; the lines of dev are for validation and tests by turns, by domain.
mkdir -p pairs tests many
for language in en de; do
  head -n 40 train.$language > pairs/a.$language
  sed -n '41,60p' train.$language > pairs/b.$language
  { sed -n '61,70p' train.$language && sed -n 5p train.$language; } > pairs/dev.$language
  cp test.$language tests/other.$language
done
printf '%s\n' a a a a a b b b b b b > pairs/dev.domain
cp vocab.model many
sed '$d' pairs/dev.domain > short && mv pairs/dev.domain whole && mv short pairs/dev.domain
rejects 1 'dev.domain: expected as many lines as dev.en and dev.de have' "$ROOT/tools/experiments/translation_million.sh" pairs many
mv whole pairs/dev.domain
TESTS=missing rejects 2 'TESTS: expected a folder with NAME.en and NAME.de, got missing' "$ROOT/tools/experiments/translation_million.sh" pairs many
WEIGHTS=c=2 rejects 2 'WEIGHTS: expected names of sets in pairs, got c=2' "$ROOT/tools/experiments/translation_million.sh" pairs many
million() {
  WEIGHTS="a=0.5 b=1.5" TESTS=tests ARMS=rope HOURS=1 "$ROOT/tools/experiments/translation_million.sh" pairs many --dim-emb 16 \
    --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 300 --after 2u --save-freq 2u \
    --valid-freq 2u --threads 1 --quiet > million.log 2> million.err || { cat million.err; fail "translation_million"; }
}
million
check "the expected time" grep -q '^expected time: 1.0 hours of training' million.err
same "the pairs without those of dev, by weight" "$(wc -l < many/train.en) $(grep -cxFf pairs/b.en many/train.en)" "49 30"
check "the sides stay parallel" cmp <(paste pairs/a.en pairs/a.de pairs/b.en pairs/b.de | tr '\t' '\n' | sort -u | grep -xFf - many/train.de | wc -l) <(wc -l < many/train.en)
same "test sets by domain" "$(cut -f 1,2 many/scores.tsv | tr '\t\n' '  ')" "rope-1 a rope-1 b rope-1 other "
same "lines of dev" "$(cat many/data/valid.en many/data/tests/[ab].en | sort)" "$(sort pairs/dev.en)"
check "the recipe" grep -q '^learn-rate = 0.002' many/rope-1/train.toml
cp many/rope-1/metrics.jsonl first.jsonl
million
same "the run is kept" "$(grep -c '"event":"train"' many/rope-1/metrics.jsonl)" "$(grep -c '"event":"train"' first.jsonl)"
