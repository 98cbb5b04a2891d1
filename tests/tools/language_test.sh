#!/usr/bin/env bash
# Tests the commands of language models from outside, on documents of a few hundred sentences.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools

from_corpus {train,val}.en
as_documents train.en > books.txt
as_documents val.en > valid.txt
small="--layers 1 --dim-emb 32 --transformer-dim-ffn 32 --max-length 32 --quiet"
final() { sed -n 's/.*"event":"valid".*"loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | tail -n 1; }

build/gyre vocab --input books.txt --type wordpiece --size 300 --output vocab.txt
mpirun -n 2 build/gyre train mlm --config tools/recipes/mlm-small.toml --train-sets books.txt --vocab vocab.txt --model run/ \
  $small --after 20u --save-freq 10u --valid-freq 10u --precision fp32
tail -n 1 run/metrics.jsonl | contains '"event":"end".*"updates":20' || fail "the end of the run: $(tail -n 1 run/metrics.jsonl)"
contains '"event":"valid","updates":10,"loss":[0-9.]+,"accuracy":[0-9.]+,"cross-entropy":[0-9.]+,"perplexity":' < run/metrics.jsonl \
  || fail "the metrics of validation"
check "the run has its own vocabulary" cmp vocab.txt run/vocab.txt
check "config.json has the kind of the model" grep -q '"model": "encoder-only"' run/config.json
build/gyre train mlm --config run/train.toml --after 25u
tail -n 1 run/metrics.jsonl | contains '"updates":25' || fail "the run did not continue"

# Training has the same bits on one and two ranks, from text and from its token store, with whole words masked.
build/gyre data build --vocab vocab.txt --source books.txt --documents blank-line --output books.tok 2> build.log
exact="$small --whole-words --deterministic --precision fp32 --after 6u --valid-freq 3u --valid-share 0.2 --batch-unit sentences --mini-batch-words 8"
build/gyre train mlm --train-sets books.txt --vocab vocab.txt --model one/ --threads 1 $exact
mpirun -n 2 build/gyre train mlm --train-sets books.tok --vocab vocab.txt --model two/ --threads 1 $exact
check "the weights of one and two ranks" cmp one/checkpoints/last/model.safetensors two/checkpoints/last/model.safetensors
same "the validation loss of one and two ranks" "$(final one)" "$(final two)"
build/gyre train mlm --train-sets books.tok --vocab vocab.txt --model again/ --threads 1 $exact --recompute block
check "the weights of a run that computes its layers again" cmp one/checkpoints/last/model.safetensors again/checkpoints/last/model.safetensors
activations() {
  build/gyre plan lm --preset llama-tiny --layers 12 --vocab-size 300 --max-length 256 --ranks 1 --gflops 10 --memory-gb 5 --json --recompute "$1" |
    grep -o '"activations_mib":[0-9.]*' | cut -d: -f2
}
awk -v kept="$(activations none)" -v again="$(activations block)" 'BEGIN { exit !(again > 0 && again < 0.4 * kept) }' ||
  fail "gyre plan: the memory of layers that are computed again"
step_of_gpu() { build/gyre plan lm --preset llama-tiny --vocab-size 300 --device h200 --gpus 1 --json "$@" | grep -o '"step_seconds":[0-9.e-]*' | cut -d: -f2 | sed -n 1p; }
awk -v all="$(step_of_gpu)" -v some="$(step_of_gpu --freeze '*.layers.*')" 'BEGIN { exit !(some > 0 && some < 0.9 * all) }' ||
  fail "gyre plan: the time of frozen layers on a GPU"
rejects 2 '--documents-attend would have no effect: without --across-documents' \
  build/gyre train mlm --train-sets books.tok --vocab vocab.txt --model bad/ $small --documents-attend apart
for position in learned sinusoidal none shaw nezha xl t5 tupe deberta alibi wavelet; do
  build/gyre train mlm --train-sets books.tok --vocab vocab.txt --model $position/ --position $position $small --after 2u
done

# A run of any preset and position resumes by its directory alone: its train.toml has the values of the preset.
tiny="--layers 1 --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --max-length 16 --mini-batch 2 --quiet"
for model in bert wobert nezha roformer "bert --position alibi" "nezha --position rope"; do
  read -r family position <<< "$model"
  build/gyre train mlm --preset "$family-mini" $position --train-sets books.tok --vocab vocab.txt --model "preset-$family/" --overwrite $tiny --after 1u
  build/gyre train mlm --model "preset-$family/" --after 2u --quiet || fail "resuming $model"
done
rejects 2 '--preset: the run has bert-mini, got roformer-mini: use the same, another --model, or --overwrite' build/gyre train mlm --model preset-bert/ --preset roformer-mini --after 3u
rejects 1 'holds a run of another model .*position/encoding "alibi" -> "rope"' build/gyre train mlm --model preset-bert/ --position rope --after 3u
build/gyre train mlm --model preset-bert/ --preset bert-mini --after 3u --quiet || fail "resuming with the same preset"
if grep '^quiet' preset-bert/train.toml; then fail "--quiet concerns a call, not the run"; fi
build/gyre train lm --rope-base 500 --train-sets books.tok --vocab vocab.txt --model based/ $tiny --after 1u
rejects 1 'holds a run of another model' build/gyre train lm --model based/ --position alibi --after 2u

build/gyre vocab --input books.txt --type bpe --size 300 --output vocab.model
build/gyre train lm --preset lm-tiny --position rope --train-sets books.txt --valid-sets valid.txt --vocab vocab.model \
  --max-length 128 --model lm/ $small --max-length 64 --after 12u --valid-freq 6u --valid-metrics perplexity
build/gyre evaluate perplexity --model lm/ --checkpoint last --input valid.txt --json > perplexity.json
contains '^\{"perplexity":[0-9.]+,"cross_entropy":[0-9.]+,.*"bits_per_character":[0-9.]+,"bits_per_byte":[0-9.]+\}$' < perplexity.json \
  || fail "the summary of evaluate perplexity: $(cat perplexity.json)"
loss=$(sed -n 's/.*"cross_entropy":\([0-9.]*\).*/\1/p' perplexity.json)
awk -v a="$loss" -v b="$(final lm)" 'BEGIN { d = a / b - 1; exit !(d < 1e-5 && d > -1e-5) }' \
  || fail "evaluate perplexity and validation differ: $loss, $(final lm)"
same "the training length of the model" "$(grep -o '"max_length":[0-9]*' perplexity.json)" '"max_length":64'
build/gyre evaluate perplexity --model lm/ --input valid.txt --context-window 48 > context.txt

# Several corpora in given shares, from text and a token store; bits per byte as evaluate perplexity computes them.
build/gyre data build --vocab vocab.txt --source valid.txt --documents blank-line --output valid.tok 2> build.log
mixed="$small --max-length 64 --deterministic --after 6u --valid-freq 6u --valid-metrics bits-per-byte cross-entropy"
build/gyre train lm --train-sets books.txt valid.tok --train-weights 1 2 --valid-sets valid.txt books.txt --vocab vocab.txt --model mixed/ $mixed
mpirun -n 2 build/gyre train lm --train-sets books.txt valid.tok --train-weights 1 2 --valid-sets valid.txt books.txt --vocab vocab.txt --model mixed2/ $mixed
check "weighted corpora on one and two ranks" cmp mixed/checkpoints/last/model.safetensors mixed2/checkpoints/last/model.safetensors
same "validation sets on one and two ranks" "$(grep -o '"bits-per-byte.*"validation' mixed/metrics.jsonl)" "$(grep -o '"bits-per-byte.*"validation' mixed2/metrics.jsonl)"
of_set() { sed -n "/\"event\":\"valid\"/s/.*\"bits-per-byte.$1\":\([0-9]*\.[0-9]\{4\}\).*/\1/p" mixed/metrics.jsonl; }
same "bits per byte of validation and of evaluate perplexity" "$(of_set valid.txt)" \
  "$(build/gyre evaluate perplexity --model mixed/ --checkpoint last --input valid.txt --json | sed -n 's/.*"bits_per_byte":\([0-9]*\.[0-9]\{4\}\).*/\1/p')"
check "train.toml has the weights" grep -q '^train-weights = \[1, 2\]' mixed/train.toml
rejects 2 'a weight for each of the 2 files of --train-sets, got 1 weights' \
  build/gyre train lm --train-sets books.txt valid.tok --train-weights 1 --vocab vocab.txt --model bad/ $small --after 1u
rejects 2 'expected numbers above 0, got 0' build/gyre train lm --train-sets books.txt valid.tok --train-weights 1 0 --vocab vocab.txt --model bad/ $small --after 1u
rejects 2 "bits-per-byte only for causal models" build/gyre train mlm --train-sets books.txt --vocab vocab.txt --valid-sets valid.txt --valid-metrics bits-per-byte --model bad/ $small --after 1u

# A run that starts from the weights of another.
build/gyre train lm --init-from lm/ --train-sets valid.txt --learn-rate 1e-20 --lr-schedule constant --lr-warmup 0 --after 1u --model tuned/ --quiet
same "a run starts from other weights" "$(build/gyre evaluate perplexity --model lm/ --checkpoint last --input valid.txt)" \
  "$(build/gyre evaluate perplexity --model tuned/ --checkpoint last --input valid.txt --max-length 64)"
mv lm moved
build/gyre train lm --model tuned/ --after 2u --quiet || fail "a run that has begun does not need the other one"
rejects 1 '\(layers 1 -> 2\)' build/gyre train lm --init-from lm/ --layers 2 --train-sets valid.txt --model tuned/ --after 3u
build/gyre train lm --init-from lm/ --transformer-dropout 0.25 --learn-rate 1e-20 --lr-schedule constant --lr-warmup 0 \
  --train-sets valid.txt --model tuned/ --after 3u --quiet 2> changed.txt
check "an option of the model counts without the other run" grep -q 'dropout 0.* -> 0.25' changed.txt
mv moved lm
# Without a given warm-up, a run from other weights has a tenth of its updates; of a run without an end none.
warmup() { build/gyre train "$@" --train-sets valid.txt --max-skipped 3 --quiet 2> warmup.log && sed -n 's/^lr-warmup = //p' tuned/train.toml; }
same "warm-up of a continued decoder" "$(warmup lm --init-from lm/ --after 1u --overwrite --model tuned/)" '"10%"'
same "a given warm-up" "$(warmup lm --init-from lm/ --after 1u --overwrite --model tuned/ --lr-warmup 3)" 3
check "a run that ends within its warm-up is said" grep -q 'training ends after 1 update, within a warm-up of 3:' tuned/train.log
# Options of the model change the architecture; every difference is said.
build/gyre train lm --init-from lm/ --layers 2 --position alibi --train-sets valid.txt --after 1u --model changed/ 2> changed.txt
check "a changed architecture is said" grep -q 'initial weights: of another architecture: .*layers 1 -> 2; .*position/encoding "rope" -> "alibi"' changed.txt
check "new tensors are named" grep -q 'initial weights: newly initialized: encoder.layers.1.' changed.txt
build/gyre train lm --init-from changed/ --layers 1 --train-sets valid.txt --after 1u --model changed-back/ 2> changed.txt
check "left out tensors are named" grep -q 'initial weights: not read: encoder.layers.1.' changed.txt
rejects 1 'encoder.layers.0..*expected' build/gyre train lm --init-from lm/ --transformer-dim-ffn 48 --train-sets valid.txt --after 1u --model bad/
check "a list is named once" test "$(build/gyre train lm --init-from lm/ --position wavelet --wavelet-scales 1 2 4 8 --wavelet-shifts 0 1 --train-sets valid.txt --after 1u --model wavelets/ 2>&1 | grep -o 'wavelet_scales [^;]*' | wc -l)" = 1
# A file that lacks tensors is an error if the architecture is the same.
build/gyre train lm --init-from changed/ --layers 1 --train-sets valid.txt --after 1u --model part/ --quiet --overwrite 2> /dev/null
cp changed/config.json part/config.json
rejects 1 'and [0-9]+ more' build/gyre train lm --init-from part/ --train-sets valid.txt --after 1u --model bad/
rejects 1 'and [0-9]+ more' build/gyre train lm --init-from lm/ --layers 2 --lora-rank 2 --train-sets valid.txt --after 1u --model bad/
rejects 2 '.--init-from. expected another run than --model' build/gyre train lm --init-from lm/ --train-sets valid.txt --after 1u --model lm/
same "the context does not change the number of scored tokens" "$(sed -n 's/^tokens: //p' context.txt)" "$(grep -o '"tokens":[0-9]*' perplexity.json | cut -d: -f2)"
build/gyre checkpoint average --model lm/ --last 2 > average.txt
build/gyre evaluate perplexity --model lm/ --checkpoint average --input valid.txt --json | contains '"max_length":64,' || fail "the length of an average"
# Skipped lines (invalid UTF-8, or no tokens) do not count in the bits per character and byte.
bits() { build/gyre evaluate perplexity --model lm/ --input "$1" --on-bad-line skip --json | grep -o '"characters".*'; }
{ cat valid.txt; for i in 1 2 3 4 5; do printf 'a line of bad UTF-8 \xFF\n'; done; } > bad-utf8.txt
{ cat valid.txt; for i in 1 2 3 4 5; do printf '\xE2\x80\x8B\xE2\x80\x8B\n'; done; } > no-pieces.txt  # zero-width spaces
same "the bits with lines of invalid UTF-8" "$(bits bad-utf8.txt)" "$(bits valid.txt)"
same "the bits with lines without tokens" "$(bits no-pieces.txt)" "$(bits valid.txt)"
build/gyre evaluate perplexity --model lm/ --input bad-utf8.txt --on-bad-line skip 2>&1 > facts.txt | contains 'bad-utf8.txt: 40 lines, skipped 5 with invalid UTF-8' || fail "the skipped lines: $(cat matches.txt)"
build/gyre vocab --type bytes --output bytes.model
for type in char word; do build/gyre vocab --input books.txt --type $type --size 300 --output $type.model; done
for type in bytes char word; do
  build/gyre train lm --train-sets books.txt --vocab $type.model --model lm-$type/ $small --after 2u
  build/gyre evaluate perplexity --model lm-$type/ --input valid.txt --json | contains '"bits_per_character":' || fail "a vocabulary of $type"
done

# A stream: every byte of the file counts as a token. The end of a single document is held out.
{ printf '\xEF\xBB\xBF\r\n\n \t\xFF'; head -c 4000 books.txt; printf '\xC3'; } > stream.bin
size=$(stat -c %s stream.bin)
build/gyre data build --vocab bytes.model --source stream.bin --documents whole --output stream.tok 2> build.log
build/gyre data info --store stream.tok --verify --json | contains "\"documents\":1,.*\"tokens\":\[$size\]" || fail "the store of a stream"
build/gyre train lm --config tools/recipes/enwik8-small.toml --train-sets stream.bin --valid-share 0.25 --vocab bytes.model --model lm-stream/ \
  $small --mini-batch-words 4 --after 2u --valid-freq 2u --precision fp32
build/gyre train lm --train-sets stream.tok --vocab bytes.model --model lm-store/ $small --valid-share 0.25 --after 1u
build/gyre evaluate perplexity --model lm-stream/ --input stream.bin --documents whole --json > perplexity.json
contains "\"tokens\":$((size + 1)),.*\"bytes\":$size,.*\"bits_per_byte\":" < perplexity.json || fail "the bits of a stream: $(cat perplexity.json)"
build/gyre vocab --input books.txt --type char --normalization identity --byte-fallback --keep-whitespace --output kept.model 2> vocab.log
# The document boundaries are those of the run, unless --documents is given.
build/gyre evaluate perplexity --model lm-stream/ --input stream.bin --json 2> documents.log | same "the run's own documents" "$(cat)" "$(cat perplexity.json)"
check "the boundaries are reported" grep -qx "documents: whole (--documents of the run)" documents.log
build/gyre evaluate perplexity --model lm-stream/ --input valid.txt --documents line --json 2> documents.log | contains '"documents":40,' || fail "other documents"
same "given boundaries are not reported" "$(cut -d: -f1 documents.log | paste -sd' ')" "model valid.txt"
build/gyre evaluate extrapolation --model lm-stream/ --input stream.bin --lengths 16 --protocol full --json --quiet 2> documents.log \
  | contains "\"tokens\":$((size / 16 * 16))," || fail "the stream in evaluate extrapolation"
check "--quiet" test ! -s documents.log
build/gyre inspect receptive-field --model lm-stream/ --input stream.bin --length 16 --samples 1 --output field.svg 2> documents.log > field.txt
check "the stream in inspect receptive-field" grep -q "documents: whole (--documents of the run)" documents.log
# The loss on the data that training held out equals the validation loss.
held_out() { # held_out RUN FACTS: compares the two losses
  awk -v a="$(sed -n 's/.*"cross_entropy":\([0-9.]*\).*/\1/p' "$2")" -v b="$(final "$1")" 'BEGIN { d = a / b - 1; exit !(d < 1e-5 && d > -1e-5) }'
}
build/gyre evaluate perplexity --model lm-stream/ --checkpoint last --input stream.bin --valid-share 0.25 --json > facts.txt 2> facts.log
check "the end of a stream that training held out" held_out lm-stream facts.txt
contains "\"tokens\":$(((size + 2) / 4 + 1)),.*\"bytes\":$(((size + 2) / 4))," < facts.txt || fail "the bits of the end of a stream: $(cat facts.txt)"
build/gyre train lm --train-sets books.txt --vocab vocab.model --model lm-share/ $small --after 4u --valid-freq 4u --valid-share 0.2 --precision fp32
build/gyre evaluate perplexity --model lm-share/ --checkpoint last --input books.txt --valid-share 0.2 --json > facts.txt 2> facts.log
check "the documents that training held out" held_out lm-share facts.txt
rejects 2 '--valid-share: expected a number from 0 to below 1, got 1' build/gyre evaluate perplexity --model lm-share/ --input books.txt --valid-share 1
rejects 1 'none of its [0-9]+ documents is held out' build/gyre evaluate perplexity --model lm-share/ --input books.txt --valid-share 1e-6
build/gyre data build --vocab kept.model --source books.txt --documents whole --output kept.tok 2> build.log
rejects 1 'stream.bin: byte 9 \(0xFF\): expected valid UTF-8 for this vocabulary; gyre vocab --type bytes' \
  build/gyre data build --vocab vocab.model --source stream.bin --documents whole --output bad.tok
rejects 1 'books.txt: byte [0-9]+ \(0x0A\): expected a vocabulary that keeps every byte' \
  build/gyre evaluate perplexity --model lm/ --input books.txt --documents whole
rejects 2 '--on-bad-line would have no effect' \
  build/gyre data build --vocab bytes.model --source stream.bin --documents whole --output bad.tok --on-bad-line skip
rejects 2 '--fill. expected full with --documents whole' \
  build/gyre train lm --train-sets stream.bin --documents whole --fill segment --vocab bytes.model --model bad/ --after 1u

rejects 1 'expected a causal language model, got a bidirectional one' build/gyre evaluate perplexity --model one/ --input valid.txt
rejects 1 'run/config.json: expected a translation model .encoder-decoder., found an encoder .masked language model.' build/gyre translate --model run/
build/gyre train lm --position learned --train-sets books.txt --vocab vocab.model --model lm-learned/ $small --after 1u
rejects 1 '--max-length: expected 1 to [0-9]+, the number of positions of the model, got 9000' \
  build/gyre evaluate perplexity --model lm-learned/ --input valid.txt --max-length 9000
rejects 2 '--preset: expected one of mlm-small, bert-mini' build/gyre train mlm --train-sets books.txt --vocab vocab.txt --model bad/ --preset lm-tiny
rejects 1 'expected a vocabulary with a piece \[MASK\] or <mask>' build/gyre train mlm --train-sets books.txt --vocab bytes.model --model bad/ $small --after 1u
rejects 2 '--valid-samples would have no effect' build/gyre train lm --train-sets books.txt --vocab vocab.model --model bad/ --after 1u --valid-samples 5
rejects 2 '--mask-share. expected a number above 0 and up to 1, got 0' build/gyre train mlm --train-sets books.txt --vocab vocab.txt --model bad/ --after 1u --mask-share 0
rejects 1 'belongs to a run with other options' build/gyre train mlm --train-sets books.txt --vocab vocab.txt --model one/ --threads 1 $exact --mask-share 0.3
rejects 1 'none of its [0-9]+ documents is for validation' build/gyre train mlm --train-sets books.txt --vocab vocab.txt --model bad/ $small --after 1u --valid-freq 1u --valid-share 1e-6
