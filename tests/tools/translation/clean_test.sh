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
check "JSON" contains "^\{.*\"pairs\":420,\"kept\":$kept,\"held_out\":21,\"dropped\":\{\"unpaired\":3,.*\"bytes\":[0-9]+" < summary.json
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
