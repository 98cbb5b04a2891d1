#!/usr/bin/env bash
# Tests tools/experiments/cail_scm.sh on a few triplets: arms, cuts, folds, the table, and a repetition.
. "$(dirname "$0")/lib.sh"
scm=$ROOT/tools/experiments/cail_scm.sh
for i in 1 2 3 4 5 6 7; do
  echo "{\"A\": \"a b c $i\", \"B\": \"a b d $i\", \"C\": \"x y z $i\"}"
done > triplets.jsonl
from_corpus train.en
mv train.en text.txt
export RANKS=1 PIECES=200 FOLDS=3 CUTS="16 520"
export PRETRAIN="--after 2u --mini-batch 16 --dim-emb 16 --layers 1 --transformer-heads 2 --transformer-dim-ffn 32 --cpu-threads 1"
run() { # ARMS
  ARMS=$1 "$scm" triplets.jsonl text.txt out --after 2e --cpu-threads 1 > log.out 2> log.err || { cat log.err >&2; fail "arms $1"; }
}

rejects 2 '^Existing results are kept' "$scm" triplets.jsonl text.txt
ARMS="roformer lstm-words" rejects 2 'ARMS: expected roformer, wobert, nezha or bert, also with -words, -pieces or -characters, got lstm-words' "$scm" triplets.jsonl text.txt out
rejects 2 "DICTIONARY: expected jieba's dictionary for the arms of words, got ''" "$scm" triplets.jsonl text.txt out
printf 'the 9 x\nof 5\n' > "my dict.txt"
export DICTIONARY="my dict.txt"
FOLDS=2 rejects 2 'FOLDS: expected at least 3, got 2' "$scm" triplets.jsonl text.txt out
[ ! -e out ] || fail "a wrong call started"

run "roformer bert wobert nezha-pieces"
same "runs, without BERT at 520 tokens" "$(cut -f 1-3 out/scores.tsv | tr '\t\n' ' ,')" \
  "roformer 16 0,roformer 16 1,roformer 16 2,roformer 520 0,roformer 520 1,roformer 520 2,bert 16 0,bert 16 1,bert 16 2,wobert 16 0,wobert 16 1,wobert 16 2,nezha-pieces 16 0,nezha-pieces 16 1,nezha-pieces 16 2,nezha-pieces 520 0,nezha-pieces 520 1,nezha-pieces 520 2,"
check "each triplet is in one test set" cmp <(cat out/folds/?.test.jsonl | sort) <(sort triplets.jsonl)
same "sizes of the first sets" "$(wc -l < out/folds/0.test.jsonl) $(wc -l < out/folds/0.valid.jsonl) $(wc -l < out/folds/0.train.jsonl)" "3 2 2"
same "the table" "$(awk '{ print $1, $2, $3 }' out/table.txt | tr '\n' ',')" "arm cut folds,roformer 16 3,roformer 520 3,bert 16 3,wobert 16 3,nezha-pieces 16 3,nezha-pieces 520 3,"
same "accuracies are numbers" "$(grep -cP '^[^\t]+\t[0-9]+\t[0-9]\t[01](\.[0-9]+)?\t[01](\.[0-9]+)?$' out/scores.tsv || true)" 18
check "means are those of the folds" awk -F '\t' 'NR == FNR { if ($1 == "bert") sum += $5 / 3; next }
  $1 ~ /^bert / { split($1, part, " +"); found = 1; if ((part[4] - 100 * sum) ^ 2 > 1e-3) exit 1 } END { exit !found }' out/scores.tsv out/table.txt
check "words of the dictionary are pieces" "$GYRE" encode --vocab out/vocab-words.model --input text.txt --output pieces
check "the table is printed" cmp out/table.txt <(tail -n 7 log.out)
cp out/scores.tsv first.tsv
run "roformer bert wobert nezha-pieces"
check "a repetition keeps all results" cmp out/scores.tsv first.tsv

# RoFormer has options of its own: stages, with samples that the other arms have no positions for.
printf '[[stage]]\nupdates = 1\n[[stage]]\nupdates = 1\nmax-length = 600\n' > stages.toml
rm -r out
PRETRAIN_ROFORMER="--config stages.toml ${PRETRAIN#--after 2u}" run "roformer bert"
same "the stages of RoFormer" "$(grep -c '"event":"stage"' out/roformer/metrics.jsonl) $(grep -c '"event":"stage"' out/bert/metrics.jsonl || true)" "2 0"
