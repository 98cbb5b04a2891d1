#!/usr/bin/env bash
# Tests gyre evaluate choice, and gyre score of language models, from outside: with a model of transformers, against what
# lm-evaluation-harness computes (tests/train/golden/make_choice.py), and with a model that is trained here.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
golden=$ROOT/tests/train/golden/choice
choice() { build/gyre evaluate choice "$@" 2> choice.log; }
score() { build/gyre score --quiet "$@"; }
# numbers NAME: the numbers of the lists of a key, one on each line.
numbers() { grep -oE "\"$1\": ?(\[[][0-9.e, -]*\]+|[0-9.e+-]+)" | grep -oE -- '-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?'; }

build/gyre import --from hf "$golden" --output imported 2> import.log

# Every log-probability, and the accuracies, are those of the harness.
harness() {
  local shots format row
  for shots in 0 2; do
    for format in hellaswag endings winogrande piqa openbookqa sciq boolq arc mmlu mmlu-continuation lambada; do
      row="^\{\"format\": \"$format\", \"shots\": $shots,"
      grep -E "$row" "$golden/golden.json" > wanted.json
      local arguments=(--model imported --input "$golden/$format.jsonl" --shots $shots --description $'Answer these:\n\n')
      if [ $format = mmlu-continuation ]; then arguments+=(--format $format); fi
      choice "${arguments[@]}" --json --output lines.jsonl > got.json
      numbers log_probabilities < lines.jsonl > got
      numbers log_probabilities < wanted.json > wanted
      check "log-probabilities of $format with $shots examples" near got wanted
      numbers acc < got.json > got
      numbers acc < wanted.json > wanted
      check "acc of $format with $shots examples" near got wanted
      if ! grep -q acc_norm wanted.json; then continue; fi
      numbers acc_norm < got.json > got
      numbers acc_norm < wanted.json > wanted
      check "acc_norm of $format with $shots examples" near got wanted
    done
  done
  choice --model imported --input "$golden/lambada.jsonl" --description $'Answer these:\n\n' --json > got.json
  check "the perplexity of LAMBADA" awk 'BEGIN { got = ARGV[1]; wanted = ARGV[2]; exit !((got / wanted - 1) ^ 2 < 1e-8) }' \
    "$(numbers perplexity < got.json)" "$(grep '"lambada", "shots": 0' "$golden/golden.json" | numbers perplexity)"
}

# Batches change nothing, the table has a row for each file, and the examples may come from another file.
tables() {
  local all=("$golden"/{hellaswag,arc,lambada}.jsonl)
  choice --model imported --input "${all[@]}" --shots 1 --output all.jsonl > table.txt
  same "the rows of the table" "$(sed "s#$golden/##" table.txt | grep jsonl | awk '{ print $1, $2, $3, $4, $5 }' | tr '\n' ';')" \
    'hellaswag.jsonl hellaswag 4 1 acc;arc.jsonl arc 3 1 acc;lambada.jsonl lambada 3 1 acc;'
  same "the other metrics" "$(awk 'NR > 1 && NF < 5 { print $1 }' table.txt | tr '\n' ' ')" 'acc_norm acc_norm perplexity '
  same "the files are described" "$(sed -n "s#^$golden/##p" choice.log | tr '\n' ';')" \
    'hellaswag.jsonl: 4 questions (hellaswag);arc.jsonl: 3 questions (arc);lambada.jsonl: 3 questions (lambada);'
  same "a line for each question" "$(wc -l < all.jsonl)" 10
  numbers log_probabilities < all.jsonl > wanted
  for batch in 1 300; do
    choice --model imported --input "${all[@]}" --shots 1 --mini-batch-words $batch --output lines.jsonl > batch.txt
    numbers log_probabilities < lines.jsonl > got
    check "batches of $batch tokens" near got wanted
  done
  choice --model imported --input "$golden/arc.jsonl" --limit 1 --output lines.jsonl --json > got.json
  same "the limit" "$(wc -l < lines.jsonl) $(numbers questions < got.json)" '1 1'
  contains '"acc_stderr":null' < got.json || fail "one question has no standard error"
  sed -n 2,3p "$golden/arc.jsonl" > examples.jsonl
  choice --model imported --input "$golden/arc.jsonl" --limit 1 --shots 2 --output own.jsonl > own.txt
  choice --model imported --input "$golden/arc.jsonl" --limit 1 --shots 2 --shots-from examples.jsonl --output others.jsonl > others.txt
  check "examples of another file" cmp own.jsonl others.jsonl
  gzip -c "$golden/arc.jsonl" > arc.jsonl.gz
  choice --model imported --input "$golden/arc.jsonl" --json | numbers acc > wanted
  choice --model imported --input arc.jsonl.gz --json | numbers acc > got
  check "a compressed file" cmp got wanted
  rejects 1 'arc.jsonl: \[choice\] line 1: expected 3 examples beside the question \(--shots\), got 2$' \
    build/gyre evaluate choice --model imported --input "$golden/arc.jsonl" --shots 3 --cpu-threads 1
  rejects 1 'line 1: expected a choice of at most 1 tokens \(--max-length\), got [0-9]+$' \
    build/gyre evaluate choice --model imported --input "$golden/arc.jsonl" --max-length 1 --cpu-threads 1
}

# gyre score reads lines. Their sums are those of the pieces, and that of evaluate perplexity, which reads documents.
lines() {
  printf 'The dog barked.\n\nUn café, 日本語!\n' > lines.txt
  score --model imported --target lines.txt --word-scores > scores
  same "a score for each line" "$(wc -l < scores)" 3
  same "an empty line is </s>" "$(sed -n 2p scores | cut -d ' ' -f 2-4)" '||| </s> |||'
  check "a score is the sum of the pieces" awk -F ' [|][|][|] ?' \
    '{ n = split($3, part, " "); sum = 0; for (i = 1; i <= n; ++i) sum += part[i]; if ((sum - $1) ^ 2 > 1e-8) exit 1 }' scores
  cut -d ' ' -f 1 scores > wanted
  score --model imported --target lines.txt --mini-batch-words 3 --maxi-batch 1 --mini-batch 1 > got
  check "batches" near got wanted
  score --model imported --target - < lines.txt > got
  check "standard input" cmp got wanted
  awk '{ sum += $1 } END { printf "%.6f\n", sum }' scores > wanted
  score --model imported --target lines.txt --summary log-probability > got
  check "the sum" near got wanted
  score --model imported --target lines.txt --no-eos --json | numbers tokens | tr '\n' ' ' > got
  score --model imported --target lines.txt --json | numbers tokens | awk '{ printf "%d ", $1 - 1 }' > wanted
  check "tokens without </s>" cmp got wanted
  same "an empty line without </s>" "$(score --model imported --target lines.txt --no-eos | sed -n 2p)" 0.000000
  printf '0 ||| The dog barked. ||| F0= -1 ||| -1\n2 ||| Un café, 日本語! ||| F0= -2 ||| -2\n' > nbest
  score --model imported --target nbest --n-best | sed 's/.* Score= \([-0-9.]*\) .*/\1/' > got
  sed -n '1p;3p' scores | cut -d ' ' -f 1 > wanted
  check "an n-best list" near got wanted
  printf 'The dog barked.\n\nUn café, 日本語!\n' | grep . > documents.txt
  score --model imported --target documents.txt --summary perplexity > got
  build/gyre evaluate perplexity --model imported --input documents.txt --documents line --bos --json 2> perplexity.log | numbers perplexity > wanted
  check "the perplexity of documents" near got wanted
  rejects 2 '^gyre: --source would have no effect: a language model reads no sources$' \
    build/gyre score --model imported --source lines.txt --target lines.txt
  rejects 2 '^gyre: --model: expected one language model, got an ensemble of several$' \
    build/gyre score --model imported imported --target lines.txt
}

# A model that is trained here knows its text better than another order of its words. Its export answers the same.
trained() {
  from_corpus train.en
  head -n 200 train.en > lines.en
  as_documents lines.en > books.txt
  build/gyre vocab --input books.txt --type bpe --size 200 --output vocab.model 2> vocab.log
  build/gyre train lm --preset llama-tiny --dim-emb 48 --transformer-heads 6 --layers 2 --transformer-dim-ffn 48 --max-length 32 \
    --mini-batch 8 --train-sets books.txt --vocab vocab.model --model lm/ --after 150u --learn-rate 0.003 --lr-warmup 10% --quiet
  head -n 30 lines.en | awk 'NF > 4 { right = wrong = ""
    for (i = 3; i <= NF; ++i) { right = right (i > 3 ? " " : "") $i; wrong = $i (i > 3 ? " " : "") wrong }
    printf "{\"ctx\": \"%s %s\", \"endings\": [\"%s\", \"%s\"], \"label\": 1}\n", $1, $2, wrong, right }' > order.jsonl
  choice --model lm/ --input order.jsonl --max-length 80 --output lines.jsonl --json > got.json
  check "the right order is more probable" awk 'BEGIN { exit !(ARGV[1] > 0.9) }' "$(numbers acc < got.json)"
  numbers log_probabilities < lines.jsonl > wanted
  build/gyre export --to hf --model lm/ --output hf/ 2> export.log
  build/gyre import --from hf hf/ --output again 2> import.log
  choice --model again --input order.jsonl --max-length 80 --output lines.jsonl > again.txt
  numbers log_probabilities < lines.jsonl > got
  check "the exported model answers the same" near got wanted
}

parts harness tables lines trained
