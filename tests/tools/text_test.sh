#!/usr/bin/env bash
# Tests from outside how text is read: pipes, compressed files, JSON lines, folders, patterns, line ends.
. "$(dirname "$0")/lib.sh"
small_corpus
as_documents train.en > books.txt
"$GYRE" vocab --input books.txt --type byte-bpe --size 300 --output bpe.json 2> vocab.log

# The same corpus in every form gives the same vocabulary and the same token store.
mkdir folder
split -n l/3 books.txt folder/part
gzip -k books.txt
cat folder/partaa | gzip > members.gz
cat folder/partab folder/partac | gzip >> members.gz
forms=(books.txt.gz members.gz)
if command -v zstd > zstd.txt; then zstd -q books.txt && forms+=(books.txt.zst); else skipped "zstd" "no program zstd"; fi
if command -v xz > xz.txt; then xz -k books.txt && forms+=(books.txt.xz); else skipped "xz" "no program xz"; fi
"$GYRE" data build --vocab bpe.json --source books.txt --documents blank-line --output books.tok 2> build.log
for form in "${forms[@]}" 'members.[g]z'; do
  "$GYRE" data build --vocab bpe.json --source "$form" --documents blank-line --output form.tok 2> build.log
  check "the store of $form" cmp form.tok books.tok
  "$GYRE" vocab --input "$form" --type byte-bpe --size 300 --output form.json 2> vocab.log
  check "the vocabulary of $form" cmp form.json bpe.json
  "$GYRE" data build --vocab bpe.json --source <(cat $form) --documents blank-line --output form.tok 2> build.log
  check "the store of a pipe of $form" cmp form.tok books.tok
done
"$GYRE" data build --vocab bpe.json --source /dev/stdin --documents blank-line --output form.tok < books.txt.gz 2> build.log
check "the store of standard input" cmp form.tok books.tok
for type in bpe wordpiece subword-nmt; do
  size="--size 300"
  [ $type = subword-nmt ] && size="--merges 100"
  mkdir $type.file $type.pipe
  "$GYRE" vocab --input books.txt --type $type $size --output $type.file/v.txt 2> vocab.log
  "$GYRE" vocab --input <(cat books.txt.gz) --type $type $size --output $type.pipe/v.txt 2> vocab.log
  check "the $type vocabulary of a pipe" cmp $type.file/v.txt $type.pipe/v.txt
done
rejects 2 'sample-lines reads the text twice' \
  "$GYRE" vocab --input <(cat books.txt) --type bpe --size 300 --sample-lines 10 --output bad.model
head -c 3000 books.txt.gz > cut.gz
rejects 1 'cut.gz: the compressed data end early' "$GYRE" vocab --input cut.gz --type byte-bpe --size 300 --output bad.json
printf 'PAR1\x15\x04' > part.parquet
rejects 1 'part.parquet: is a Parquet file' "$GYRE" data build --vocab bpe.json --source part.parquet --output bad.tok

# JSON lines: every line is a document with its own line ends.
awk 'BEGIN { RS = ""; FS = "\n" } { printf "{\"id\": %d, \"data\": {\"text\": \"", NR
  for (i = 1; i <= NF; ++i) printf "%s%s", (i > 1 ? "\\n" : ""), $i
  print "\"}}" }' books.txt > books.jsonl
"$GYRE" data build --vocab bpe.json --source books.jsonl --text-field data.text --output json.tok 2> build.log
check "the store of JSON lines" cmp json.tok books.tok
check "documents of JSON lines" grep -qx '40 documents' build.log
"$GYRE" vocab --input books.jsonl --text-field data.text --type byte-bpe --size 300 --output json.json 2> vocab.log
check "the vocabulary of JSON lines" cmp json.json bpe.json
"$GYRE" vocab --input books.jsonl --text-field data.text --type bpe --size 300 --output json.model 2> vocab.log
check "the lines of JSON lines" cmp json.model bpe.file/v.txt
rejects 1 'books.jsonl:1: expected a text "text", got the keys "data", "id"; see --text-field' \
  "$GYRE" vocab --input books.jsonl --type bpe --size 300 --output bad.model
rejects 1 'books.jsonl: expected one sentence per line, got JSON lines' \
  "$GYRE" data build --vocab vocab.model --source books.jsonl --target books.jsonl --output bad.tok

# Line ends: kept by default, recorded in the store; the others on request.
info() { "$GYRE" data info --store "$1" --verify --json; }
info books.tok | contains '"line_ends":"keep"' || fail "line ends of the store"
for ends in space none; do
  "$GYRE" data build --vocab bpe.json --source books.txt --documents blank-line --line-ends $ends --output $ends.tok 2> build.log
  info $ends.tok | contains "\"line_ends\":\"$ends\"" || fail "a store with --line-ends $ends"
done
rejects 2 'keep expects a vocabulary that can write line ends' \
  "$GYRE" data build --vocab vocab.model --source books.txt --documents line --line-ends keep --output bad.tok
printf 'one\ntwo\n\nthree\n' > three.txt
"$GYRE" vocab --input three.txt --type byte-bpe --size 257 --output raw.json 2> vocab.log
"$GYRE" data build --vocab raw.json --source three.txt --documents blank-line --output three.tok 2> build.log
info three.tok | contains '"tokens":\[12\]' || fail "one line end within one of two documents"

# Training: every form gives the same weights, on one rank and on two; runs record their line ends.
lm="train lm --preset lm-tiny --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --layers 1 --vocab bpe.json
  --max-length 32 --mini-batch-words 256 --after 2u --cpu-threads 1 --quiet --deterministic"
weights() { cksum < "$1/checkpoints/last/model.safetensors"; }
"$GYRE" $lm --train-sets books.txt --valid-sets books.txt --valid-metrics bits-per-byte --model text 2> train.log
"$GYRE" $lm --train-sets books.txt --valid-sets books.tok --valid-metrics bits-per-byte --model files 2> train.log
bits() { sed -n 's/.*"bits-per-byte":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | head -n 1; }
same "bits per byte of text and its store" "$(bits files)" "$(bits text)"
check "the run records its line ends" grep -q '"line-ends": *"keep"' text/checkpoints/last/state.json
for part in aa ab ac; do
  "$GYRE" data build --vocab bpe.json --source folder/part$part --documents blank-line --output $part.tok 2> build.log
done
for form in books.txt.gz "books.jsonl --text-field data.text" books.tok; do
  "$GYRE" $lm --train-sets $form --model form 2> train.log
  same "the weights of $form" "$(weights form)" "$(weights text)"
  rm -r form
done
"$GYRE" $lm --train-sets <(cat books.txt) --model form 2> train.log
same "the weights of a pipe" "$(weights form)" "$(weights text)"
"$GYRE" $lm --train-sets aa.tok folder/partab ac.tok --model several 2> train.log
"$GYRE" $lm --train-sets folder --model folder.run 2> train.log
same "the weights of stores and text as one corpus" "$(weights several)" "$(weights folder.run)"
mkfifo named
cat books.txt > named &
mpirun -n 2 "$GYRE" $lm --train-sets named --model form2 2> train.log
same "the weights of a named pipe on two ranks" "$(weights form2)" "$(weights text)"
"$GYRE" $lm --train-sets books.txt --line-ends none --model old 2> train.log
check "a run without line ends records that" grep -q '"line-ends": *"none"' old/checkpoints/last/state.json
sed -i '/^line-ends/d' old/train.toml # as an earlier version wrote it
"$GYRE" train lm --model old --after 4u 2> train.log
"$GYRE" $lm --train-sets books.txt --line-ends none --after 4u --model none 2> train.log
same "an old run continues without line ends" "$(weights old)" "$(weights none)"
"$GYRE" train lm --model text --after 4u 2> train.log
"$GYRE" $lm --train-sets books.txt --after 4u --model longer 2> train.log
same "a run continues by its directory with the default line ends" "$(weights text)" "$(weights longer)"
rejects 2 'valid-sets. expected different sets, got ./books.txt twice' \
  "$GYRE" $lm --train-sets books.txt --valid-sets books.txt ./books.txt --model bad
rejects 2 'none.tok was built with none, got keep' \
  "$GYRE" $lm --train-sets books.txt --valid-sets none.tok --model bad

# Scores: a text in every form.
score() { "$GYRE" evaluate perplexity --model text --json "$@" 2> score.log; }
score --input books.txt > wanted.json
for form in books.txt.gz "books.jsonl --text-field data.text" books.tok; do
  score --input $form > got.json
  check "the perplexity of $form" cmp got.json wanted.json
done
score --input <(cat books.txt) > got.json
check "the perplexity of a pipe" cmp got.json wanted.json
check "the line ends of the run are reported" grep -qx 'line ends: keep (--line-ends of the run)' score.log
score --input none.tok > got.json
check "other line ends of a store are reported" \
  grep -q 'line ends: none, as none.tok was built; the run was trained with keep' score.log
score --input books.tok > got.json
if grep -q 'line ends:' score.log; then fail "the line ends of a store are those of the run"; fi
"$GYRE" data build --vocab bpe.json --source books.txt --output sentences.tok 2> build.log
rejects 1 'sentences.tok: expected documents, got sentences' "$GYRE" evaluate perplexity --model text --input sentences.tok
rejects 1 'sentences.tok: expected documents, got sentences' "$GYRE" $lm --train-sets sentences.tok --model bad
rejects 1 'none.tok was built with --line-ends none, books.tok with keep' \
  "$GYRE" $lm --train-sets none.tok --valid-sets books.tok --model bad
if score --input books.txt --line-ends none | cmp -s - wanted.json; then fail "--line-ends none has no effect"; fi
"$GYRE" evaluate extrapolation --model text --lengths 16 --input <(cat books.txt) --quiet --json > got.json
"$GYRE" evaluate extrapolation --model text --lengths 16 --input books.txt --quiet --json > wanted.json
same "extrapolation on a pipe" "$(sed 's/"seconds":[^,}]*//g' got.json)" "$(sed 's/"seconds":[^,}]*//g' wanted.json)"

# Lines of a command that are JSON are text like any others, and a message says so.
printf 'one\n{"text": "two"}\n["three"]\n' | "$GYRE" encode --vocab bpe.json > encoded.txt 2> encode.log
same "JSON as text" "$(wc -l < encoded.txt) $(cat encode.log)" \
  "3 standard input:2: the line is JSON and is read as text; jq -r .text writes the texts of JSON lines"

rejects 1 'books.tok: expected lines of text, got a token store' "$GYRE" encode --vocab bpe.json --input books.tok

# Translation: pairs and lines.
gzip -k train.en train.de
small_train --after 2u --model nmt 2> train.log
sets="train.en.gz train.de.gz"
small_train --after 2u --model nmt.gz 2> train.log
same "the weights of compressed pairs" "$(weights nmt.gz)" "$(weights nmt)"
mkdir pairs
cp train.en train.de pairs
sets=pairs
rejects 2 'train-sets. expected a source and a target file, or token stores, got a folder or a pattern of 2 files' \
  small_train --after 2u --model bad
sets="train.en.gz train.de.gz"
rejects 1 'books.jsonl:1: expected a text "text".*; no document is left$' \
  "$GYRE" data clean --source books.jsonl --output-source bad.jsonl
"$GYRE" translate --model nmt --input test.en --output plain.de 2> translate.log
gzip < test.en | "$GYRE" translate --model nmt > zipped.de 2> translate.log
check "translations of compressed lines" cmp zipped.de plain.de
