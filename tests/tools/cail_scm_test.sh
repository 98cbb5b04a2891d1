#!/usr/bin/env bash
# Tests tools/experiments/cail_scm.sh on a few triplets: arms, cuts, folds, the table, and a repetition.
. "$(dirname "$0")/lib.sh"
scm=$ROOT/tools/experiments/cail_scm.sh
for i in 1 2 3 4 5 6 7; do
  echo "{\"A\": \"a b c $i\", \"B\": \"a b d $i\", \"C\": \"x y z $i\"}"
done > triplets.jsonl
"$GYRE" data generate --output . --train 400 --val 20 --test 20
mv train.en text.txt
export RANKS=1 PIECES=200 FOLDS=3 CUTS="16 520"
export PRETRAIN="--after 2u --dim-emb 16 --layers 1 --transformer-heads 2 --transformer-dim-ffn 32 --cpu-threads 1"
run() { # ARMS
  ARMS=$1 "$scm" triplets.jsonl text.txt out --after 2e --cpu-threads 1 > log.out 2> log.err || { cat log.err >&2; fail "arms $1"; }
}

rejects 2 '^PRETRAIN=' "$scm" triplets.jsonl text.txt
ARMS="roformer-words lstm-words" rejects 2 'ARMS: expected roformer- or bert- with words, pieces or characters, got lstm-words' "$scm" triplets.jsonl text.txt out
rejects 2 "DICTIONARY: expected jieba's dictionary for the arms of words, got ''" "$scm" triplets.jsonl text.txt out
printf 'the 9 x\nof 5\n' > dict.txt
export DICTIONARY=dict.txt
FOLDS=2 rejects 2 'FOLDS: expected at least 3, got 2' "$scm" triplets.jsonl text.txt out
[ ! -e out ] || fail "a wrong call started"

run "roformer-words bert-characters"
same "runs, without BERT at 520 tokens" "$(cut -f 1-3 out/scores.tsv | tr '\t\n' ' ,')" \
  "roformer-words 16 0,roformer-words 16 1,roformer-words 16 2,roformer-words 520 0,roformer-words 520 1,roformer-words 520 2,bert-characters 16 0,bert-characters 16 1,bert-characters 16 2,"
check "each triplet is in one test set" cmp <(cat out/folds/?.test.jsonl | sort) <(sort triplets.jsonl)
same "sizes of the first sets" "$(wc -l < out/folds/0.test.jsonl) $(wc -l < out/folds/0.valid.jsonl) $(wc -l < out/folds/0.train.jsonl)" "3 2 2"
same "the table" "$(awk '{ print $1, $2, $3 }' out/table.txt | tr '\n' ',')" "arm cut folds,roformer-words 16 3,roformer-words 520 3,bert-characters 16 3,"
same "accuracies are numbers" "$(grep -cP '^[^\t]+\t[0-9]+\t[0-9]\t[01](\.[0-9]+)?\t[01](\.[0-9]+)?$' out/scores.tsv || true)" 9
check "means are those of the folds" awk -F '\t' 'NR == FNR { if ($1 == "bert-characters") sum += $5 / 3; next }
  $1 ~ /^bert-characters/ { split($1, part, " +"); found = 1; if ((part[4] - 100 * sum) ^ 2 > 1e-3) exit 1 } END { exit !found }' out/scores.tsv out/table.txt
check "words of the dictionary are pieces" "$GYRE" encode --vocab out/vocab-words.model --input text.txt --output pieces
check "the table is printed" cmp out/table.txt <(tail -n 4 log.out)
cp out/scores.tsv first.tsv
run "roformer-words bert-characters"
check "a repetition keeps all results" cmp out/scores.tsv first.tsv
