#!/usr/bin/env bash
# Tests gyre data clean from outside: outputs, report, summary, threads, pipes and real text.
. "$(dirname "$0")/../lib.sh"
golden=$ROOT/tests/data/golden/cleaning

all="--min-length 2 --max-length 12 --max-ratio 1.5 --max-characters 20 --max-bytes 110 --same-text --remove-duplicates
  --unpaired drop --normalize-whitespace --remove-pipes --holdout-every 20 --holdout-source held.en --holdout-target held.de"
clean() { "$GYRE" data clean --output-source out.en --output-target out.de "$@" 2> log; }

clean --source "$golden"/in{1,2}.en --target "$golden"/in{1,2}.de --exclude "$golden"/test{1,2}.txt $all \
  --report report.tsv --json > summary.json || { cat log >&2; fail "cleaning"; }
check "kept source" cmp out.en "$golden/kept.en"
check "kept target" cmp out.de "$golden/kept.de"
check "held-out pairs" cmp held.de "$golden/held_out.de"
check "the report" cmp <(tail -n +2 report.tsv | cut -f 1,3- | sed "s|$golden/||") "$golden/report.tsv"
same "the header of the report" "$(head -n 1 report.tsv)" "$(printf 'pair\tfile\tline\treason\tdetail')"
same "the file at fault" "$(grep -c "$golden/in2.de"$'\t17[12]\tunpaired' report.tsv)" 2
kept=$(wc -l < out.en)
check "JSON" contains "^\{.*\"pairs\":420,\"kept\":$kept,\"held_out\":21,.*\"dropped\":\{\"unpaired\":3,.*\"bytes\":[0-9]+" < summary.json
check "a table" contains "^kept +$kept +[0-9.]+ %$" < log
check "the speed" contains "^[0-9.]+ MB of text in [0-9.]+ s with --cpu-threads 1: [0-9]+ MB per minute and thread$" < log
check "counts of each test set" contains "^excluded because of $golden/test1.txt: [0-9]+ pairs?$" < log

# Any number of threads, and files that cannot be mapped.
cp out.en one.en && cp report.tsv one.tsv
OMP_NUM_THREADS=3 clean --source "$golden"/in{1,2}.en --target "$golden"/in{1,2}.de --exclude "$golden"/test{1,2}.txt $all --report report.tsv
check "three threads write the same" cmp out.en one.en
check "three threads report the same" cmp report.tsv one.tsv
clean --source <(cat "$golden/in1.en") --target <(cat "$golden/in1.de") --unpaired drop
cp out.en piped.en
clean --source "$golden/in1.en" --target "$golden/in1.de" --unpaired drop
check "input from pipes" cmp out.en piped.en
"$GYRE" data clean --source piped.en --output-source /dev/stdout --remove-duplicates 2> log | sort > sorted
check "output to a pipe, of one side" cmp sorted <(sort -u piped.en)

# An empty corpus; errors leave no output.
: > empty
clean --source empty --target empty --remove-duplicates
same "an empty corpus" "$(cat out.en out.de | wc -c)" 0
rm out.*
rejects 1 "in1.en has 251 lines, .*in1.de has 250; expected as many" "$GYRE" data clean --source "$golden/in1.en" \
  --target "$golden/in1.de" --output-source out.en --output-target out.de
[ ! -e out.en ] && [ ! -e out.de ] || fail "outputs after an error"
[ "$(find . -name '*.tmp*' | wc -l)" = 0 ] || fail "temporary files after an error"

# Every hundredth training pair, as `awk 'NR%100==0'` takes it, also across files.
seq 1 1234 > a && seq 1235 2000 > b
"$GYRE" data clean --source a b --output-source train --holdout-every 100 --holdout-source valid 2> log
check "the validation set of fairseq" cmp valid <(seq 1 2000 | awk 'NR%100==0')
check "the rest trains" cmp train <(seq 1 2000 | awk 'NR%100!=0')

# Documents of a language model: their ends stay, whether lines or whole documents are filtered.
quick="The quick brown fox jumps over the lazy dog and then it sleeps in the warm sun until evening comes"
cat > books.txt <<TEXT
First story, which has two lines.
Its end is here.

Second story.


$quick
of a long summer.

Second story.

$quick
of a long, long summer.

Another one.
Its end is here.
TEXT
documents() { "$GYRE" data clean --output-source out.txt --report report.tsv "$@" 2> log || { cat log >&2; fail "documents"; }; }
lines() { sed -n "$1" books.txt; }
documents --source books.txt --remove-duplicates
check "the ends of documents stay where lines are filtered" cmp out.txt <(lines '1,5p;7,9p'; echo "of a long, long summer."; echo; lines 15p)
check "they are counted" contains '^document ends +6 ' < log
documents --source books.txt --documents blank-line --remove-duplicates --near-duplicates 0.7
check "equal and similar documents" cmp out.txt <(lines '1,5p;7,9p;15,16p')
same "dropped documents" "$(tail -n +2 report.tsv | cut -f 1,3-)" "$(printf '4\t10\tduplicate\tof document 2\n5\t12\tnear-duplicate\tsimilarity 0.%s to document 3' "$(grep -oE 'ity 0[.][0-9]+' report.tsv | cut -d. -f 2)")"
cp out.txt one.txt
OMP_NUM_THREADS=3 documents --source <(gzip < books.txt) --documents blank-line --remove-duplicates --near-duplicates 0.7
check "three threads, a compressed pipe" cmp out.txt one.txt
printf '{"id":1,"text":"He saw that the fox jumps over the lazy dog and then it sleeps, in the warm sun."}\n' > eval.jsonl
documents --source books.txt --documents blank-line --exclude eval.jsonl
check "what a test set contains" cmp out.txt <(lines '1,5p;10,11p;15,16p')
same "the detail" "$(cut -f 5 report.tsv | sed -n 2p)" "13 words = eval.jsonl:1"
check "counts of the test set" contains '^excluded because of eval.jsonl: 2 documents$' < log
documents --source books.txt --documents line --min-length 4 --holdout-every 5 --holdout-source held.txt
same "lines as documents" "$(wc -l < out.txt) $(wc -l < held.txt)" "5 2"
"$GYRE" vocab --type bytes --output bytes.vocab
documents --source books.txt --documents blank-line --vocab bytes.vocab --min-length 20 --max-length 100
check "lengths in tokens, with line ends" cmp out.txt <(lines '1,3p;15,16p')
check "their unit" contains $'^2\tbooks.txt\t4\tmin-length\tsource 13 tokens$' < report.tsv

# JSON lines keep their other fields, and their text if it is not changed.
cat > books.jsonl <<'TEXT'
{"id": 7, "text": "One text.\n\nIts  second part.", "meta": {"lang": "en"}}
{"text": "Two.", "id": 8}
not JSON
{"id": 9, "text": "Two."}
{"id": 10, "text": " \n"}
TEXT
documents --source books.jsonl --remove-duplicates
check "JSON lines" cmp out.txt <(head -n 2 books.jsonl)
check "bad ones are reported" contains '^books.jsonl: 3 documents, skipped 1 with bad JSON \(line 3\), 1 empty \(line 5\)$' < log
gzip -k books.jsonl
documents --source books.jsonl.gz --normalize-whitespace
same "a changed text" "$(head -n 1 out.txt)" '{"id":7,"text":"One text.\n\nIts second part.","meta":{"lang":"en"}}'
"$GYRE" data clean --source books.txt books.jsonl --documents blank-line --output-source all.jsonl 2> log
same "text becomes JSON lines beside them" "$(sed -n '2p;8p' all.jsonl)" '{"text":"Second story."}
{"text": "Two.", "id": 8}'
printf '{"data":{"body":"A  b"},"n":1}\n' > nested.jsonl
documents --source nested.jsonl --text-field data.body --normalize-whitespace
same "a nested text" "$(cat out.txt)" '{"data":{"body":"A b"},"n":1}'
rejects 1 'nested.jsonl:1: expected a text "text", got the keys "data", "n"' "$GYRE" data clean --source nested.jsonl --output-source none
rejects 2 '--near-duplicates compares documents' "$GYRE" data clean --source books.txt --output-source none --near-duplicates 0.8
rejects 1 'books.jsonl: expected lines of text for pairs, got JSON lines' "$GYRE" data clean --source books.jsonl --target books.txt \
  --output-source none --output-target none2

# Real text; make_cleaning.py computed the sums of what must remain.
data=$ROOT/../shared/data/multi30k
if [ -d "$data" ]; then
  clean --source "$data/train.en" --target "$data/train.de" --exclude "$data/val.en" $all --report report.tsv || { cat log >&2; fail "real text"; }
  sum() { sha256sum | cut -c 1-16; }
  same "real source" "$(sum < out.en)" 7a74c6c7c0e6c3c5
  same "real target" "$(sum < out.de)" b299cf2b66b3855f
  same "real held-out source" "$(sum < held.en)" 1dbe02ce74291ad9
  same "real report" "$(tail -n +2 report.tsv | cut -f 1,3- | sed "s|$data/||" | sum)" c9add01564ec6b4c
else
  skipped "cleaning of real text" "../shared/data/multi30k is missing"
fi
rejects 2 '--source, --target. expected files, got -' "$GYRE" data clean --source - --output-source kept
rejects 2 '--output-source and other outputs. expected files, got -' "$GYRE" data clean --source "$golden/in1.en" --output-source -
check "no file is called -" test ! -e ./-
