#!/usr/bin/env bash
# Tests gyre data check from outside: the demo's data is clean, and each mistake is found and sets the exit status.
. "$(dirname "$0")/../lib.sh"
small_corpus

model="--dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 400"
data_check() { "$GYRE" data check --vocab vocab.model $model --cpu-threads 1 "$@"; }
# finds PATTERN: the report of the last check has such a line.
finds() { contains "$1" < report || { cat report >&2; fail "no line like /$1/"; }; echo "ok: $1"; }

data_check --train-sets train.en train.de --valid-sets val.en val.de --test-sets test.en test.de > report || { cat report >&2; fail "clean data"; }
finds '^ok: lines: training set: 400 lines on both sides$'
finds '^ok: encoding: train.en: UTF-8 without odd characters$'
finds '^ok: languages: test set: the sides look like those of the training set$'
finds '^ok: epoch: [0-9]+ updates with a batch size of 400; '
finds '^ok: memory: [0-9.]+ MB per rank; this machine has '
finds '^ok: time: .* per update and .* per epoch, predicted for 1 rank of 1 thread of this machine$'
finds '^training set +source +[0-9]+ '
finds '^0 errors, '

# The updates of an epoch are those that training reports.
updates=$(grep -o '^ok: epoch: [0-9]*' report | grep -o '[0-9]*$')
small_train --model run --after 1e --quiet
same "updates of an epoch" "$(tail -n 1 run/metrics.jsonl | grep -o '"updates":[0-9]*')" "\"updates\":$updates"

# Any number of threads, and JSON.
data_check --no-plan --train-sets train.en train.de --test-sets test.en test.de --json > one.json
data_check --no-plan --train-sets train.en train.de --test-sets test.en test.de --json --cpu-threads 3 > three.json
check "three threads find the same" cmp one.json three.json
check "JSON" contains '^\{"errors":0,"warnings":[0-9]+,"findings":\[\{"verdict":"ok","topic":"lines",' < one.json

# Mistakes. Each is an error with its place.
errors() { # errors OPTIONS...: the check must end with status 1
  local status=0
  data_check --no-plan "$@" > report || status=$?
  same "exit status" "$status" 1
}
cp train.en bad.en && printf 'gr\374n\n' >> bad.en && printf 'x\ny\n' | cat train.de - > longer.de
errors --train-sets bad.en longer.de --test-sets <(head -n 5 train.en) <(head -n 5 train.de)
finds '^error: lines: training set: the source has 401 lines, the target 402$'
finds '^    longer.de:402$'
finds '^error: encoding: bad.en: 1 line with invalid UTF-8$'
finds '^    bad.en:401$'
finds '^error: overlap: test set: 5 of 5 pairs \(100 %\) occur in the training set$'
finds ':3 = bad.en \+ longer.de:3$'
errors --train-sets train.en train.de --valid-sets val.de val.en
finds '^error: languages: validation set: .* are the files swapped\?$'
errors --train-sets train.en train.en
finds '^error: copies: training set: 400 of 400 pairs \(100 %\)'
errors --train-sets train.en train.de --max-length 2
finds '^error: epoch: no pair of the training set can be used with --max-length 2$'
printf '漢字 仮名\n%.0s' 1 2 3 > han
errors --train-sets han han
finds '^error: unknown pieces: training set, source: '
: > empty
errors --train-sets empty empty
finds '^error: epoch: no pair of the training set can be used$'
finds '^error: lines: training set: no usable pair$'

# Stores, samples, and a GPU that is not here.
from_corpus train.tok
data_check --train-sets train.tok --test-sets test.en test.de --device h200 > report || { cat report >&2; fail "store"; }
finds '^Sentences are compared by their ids, because a set is a token store.$'
finds '^ok: memory: .* of an h200; fits: yes$'
finds '^ok: time: .*, predicted for 1 x h200$'
rejects 2 '--sample-lines would have no effect: a token store is measured whole' "$GYRE" data check --vocab vocab.model \
  --train-sets train.tok --sample-lines 100
data_check --train-sets train.en train.de --sample-lines 100 --no-plan > report
finds '^Pieces and lengths of the training set are of 100 of its 400 pairs \(--sample-lines 100\)\.$'
finds '^ok: epoch: about [0-9]+ updates'

# What training rejects, the check rejects.
wrong() { rejects 2 "$1" "$GYRE" data check --vocab "${vocabulary:-vocab.model}" $model --cpu-threads 1 --no-plan --train-sets train.en train.de "${@:2}"; }
wrong '--label-smoothing. expected' --label-smoothing 7
wrong '--bpe-dropout. expected' --bpe-dropout 2
wrong '--r-drop. expected' --r-drop -1
wrong '--r-drop would have no effect: without dropout' --r-drop 5 --transformer-dropout 0
wrong '--valid-metrics. expected' --valid-sets val.en val.de --valid-metrics nonsense
wrong '--valid-beam-size would have no effect' --valid-beam-size 3
wrong '--max-length. expected at most 50, the number of positions' --position learned --max-positions 50 --max-length 100
"$GYRE" vocab --type bytes --output bytes.vocab > vocab.log
vocabulary=bytes.vocab wrong '--bpe-dropout. expected a vocabulary with merges' --bpe-dropout 0.1
data_check --train-sets train.en train.de --r-drop 5 --json > twice.json
data_check --train-sets train.en train.de --json > once.json
memory() { grep -o '"memory_bytes":[0-9.e+]*' "$1" | cut -d: -f2; }
for layers in none block; do
  "$GYRE" data check --vocab vocab.model --task transformer-tiny --cpu-threads 1 --train-sets train.en train.de --device h200 \
    --mini-batch-words 50000 --recompute $layers --json > $layers.json
done
check "recomputation takes less memory of a GPU" awk -v less="$(memory block.json)" -v more="$(memory none.json)" 'BEGIN { exit !(less < more) }'
check "R-Drop takes more memory" awk -v once="$(memory once.json)" -v twice="$(memory twice.json)" 'BEGIN { exit !(twice > once) }'

# The documents of a language model.
quick="the quick brown fox jumps over the lazy dog and then it sleeps in the warm sun until evening comes"
{ for i in 1 2 3 4 5 6 7 8 9; do printf 'Story %s is of its own kind and has a line.\nIt ends.\n\n' $i; done
  printf '%s\nof a long summer.\n\n%s\nof a long, long summer.\n\nStory 3 is of its own kind and has a line.\nIt ends.\n<|endoftext|>\n' "$quick" "$quick"; } > books.txt
printf 'Once %s.\n\nNothing that is known already is in this text of a validation set.\n' "$quick" > held.txt
"$GYRE" vocab --type bytes --output bytes.vocab
status=0
"$GYRE" data check --train-sets books.txt --valid-sets held.txt --test-sets <(printf '{"text":"%s"}\n' "$quick") --vocab bytes.vocab > found.txt 2> log || status=$?
same "a leak is an error" "$status" 1
finds() { contains "$1" < found.txt || { cat found.txt log >&2; fail "no line like $1"; }; echo "ok: $1"; }
finds '^ok: documents: training set: 12 documents, [0-9]+ tokens, [0-9]+ bytes$'
finds '^warning: near-duplicates: training set: 2 of 12 documents \(16.667 %\) resemble an earlier one'
finds '^    books.txt:31$'
finds "^warning: separators: training set: 1 line like '<\|endoftext\|>', which is no piece of the vocabulary and is read as text; --documents '<"
finds '^warning: overlap: validation set: 1 of 2 documents \(50 %\) share 13 words or more with the training set, '
finds '^    held.txt:1 = books.txt:28$'
finds '^error: overlap: test set: 1 of 1 document \(100 %\) share 13 words'
finds '^warning: overlap: test set: 1 of 1 document \(100 %\) share 13 words or more with the validation set'
finds '^Tokens of a document +median'
"$GYRE" data build --vocab bytes.vocab --source books.txt --documents blank-line --output books.tok 2> log
for sets in "books.tok" "books.txt --valid-sets books.tok"; do
  rejects 1 'books.tok: expected text, got a token store; give the text that it was built from' \
    "$GYRE" data check --train-sets $sets --vocab bytes.vocab
done
"$GYRE" data check --train-sets books.txt --documents blank-line --json > found.json
check "JSON of documents" contains '"errors":0,"warnings":1,.*"sets":\[\{"set":"training set","files":\["books.txt"\],"documents":12,.*"words":[0-9]+,"duplicates":0,"near_duplicates":2,"lengths":\{"median":' < found.json
OMP_NUM_THREADS=3 "$GYRE" data check --train-sets <(gzip < books.txt) --documents blank-line > found.txt
finds '^ok: duplicates: training set: 0 of 12 documents \(0 %\) are equal to an earlier one$'
rejects 2 '--max-length would have no effect: the sets are documents' "$GYRE" data check --train-sets books.txt --vocab bytes.vocab --max-length 7
rejects 2 '--vocab is missing' "$GYRE" data check --train-sets train.en train.de
