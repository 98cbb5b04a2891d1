#!/usr/bin/env bash
# Tests from outside how token files of nanoGPT, llm.c and Megatron-LM become token stores and come back.
. "$(dirname "$0")/lib.sh"
small_corpus
as_documents train.en > books.txt
"$GYRE" vocab --input books.txt --type byte-bpe --size 300 --output bpe.json 2> vocab.log
"$GYRE" data build --vocab bpe.json --source books.txt --documents blank-line --output books.tok 2> build.log
documents=$("$GYRE" data info --store books.tok --json | grep -oE '"documents":[0-9]+' | cut -d : -f 2)
tokens=$("$GYRE" data info --store books.tok --json | grep -oE '"tokens":\[[0-9]+' | cut -d '[' -f 2)

# An exported store is read back with the same bytes, in every format.
for format in nanogpt llm.c megatron; do
  "$GYRE" data export --to $format --input books.tok --output $format.bin 2> export.log
  same "what $format reports" "$(cat export.log)" "$documents documents, $((documents + tokens)) ids"
  "$GYRE" data import --from $format --input $format.bin --vocab bpe.json --output $format.tok --copy 2> import.log
  check "the store of $format" cmp $format.tok books.tok
done
same "what data import reports" "$(cat import.log)" "$documents documents, $tokens tokens"

# Without --copy, the ids stay in the file.
"$GYRE" data import --from llm.c --input llm.c.bin --vocab bpe.json --output place.tok 2> import.log
same "what data import reports without --copy" "$(cat import.log)" "$documents documents, $tokens tokens; the ids stay in the files that were read"
"$GYRE" data info --store place.tok --verify --json | contains '"ids_in":\["llm.c.bin"\]' || fail "data info of a store without ids"
check "the store is smaller" test $(($(wc -c < place.tok) + tokens)) -lt "$(wc -c < books.tok)"
"$GYRE" data export --to nanogpt --input place.tok --output again.bin 2> export.log
check "it is exported like any other" cmp again.bin nanogpt.bin
numbers() { od -An -v -t "$1" -j "$2" -N "$3" "$4" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; } # numbers TYPE FIRST BYTES FILE
same "nanoGPT's bytes" "$(wc -c < nanogpt.bin)" $((2 * (documents + tokens)))
same "llm.c's header" "$(numbers d4 0 16 llm.c.bin)" "20240520 1 $((documents + tokens)) 0"
same "llm.c's ids" "$(wc -c < llm.c.bin)" $((1024 + 2 * (documents + tokens)))
check "nanoGPT's and Megatron's ids are the same" cmp nanogpt.bin megatron.bin
same "Megatron's magic" "$(head -c 7 megatron.idx)" MMIDIDX
same "Megatron's version" "$(numbers u1 9 9 megatron.idx)" "1 0 0 0 0 0 0 0 8"
same "Megatron's counts" "$(numbers u8 18 16 megatron.idx)" "$documents $((documents + 1))"

# The ids are those of gyre encode.
head -n 1 books.txt > first.txt
first=$("$GYRE" encode --ids --vocab bpe.json --input first.txt 2> encode.log)
ids=$(wc -w <<< "$first")
same "the first ids" "$(numbers u2 0 $((2 * ids)) nanogpt.bin)" "$first"

# Shards, folders and patterns are one text, also where a document continues in the next file.
mkdir shards
split -b 1002 -d nanogpt.bin shards/part --additional-suffix .bin
for input in shards 'shards/*.bin'; do
  "$GYRE" data import --from nanogpt --input "$input" --vocab bpe.json --output shards.tok --copy 2> import.log
  check "the store of $input" cmp shards.tok books.tok
done
mkdir megatron
cp megatron.bin megatron.idx megatron/
"$GYRE" data import --from megatron --input megatron --vocab bpe.json --output folder.tok --copy 2> import.log
check "the store of a folder of Megatron's files" cmp folder.tok books.tok
"$GYRE" data import --from megatron --input megatron/megatron --vocab bpe.json --output prefix.tok --copy 2> import.log
check "the store of the name before .bin and .idx" cmp prefix.tok books.tok

# Training takes both stores for the same data.
for store in books place; do
  "$GYRE" train lm --preset lm-tiny --dim-emb 32 --transformer-heads 4 --layers 1 --transformer-dim-ffn 64 --max-length 32 --train-sets $store.tok \
    --valid-share 0.2 --valid-metrics bits-per-byte --vocab bpe.json --mini-batch 8 --after 4u --model $store.run --cpu-threads 1 --quiet
done
check "the same weights" cmp books.run/checkpoints/last/model.safetensors place.run/checkpoints/last/model.safetensors
