#!/usr/bin/env bash
# Tests the model card of gyre export: what it says of runs, averages, classifiers and imported models, and what it must
# not say.
. "$(dirname "$0")/../lib.sh"
small_books
small="--layers 1 --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --quiet"
export_to() { "$GYRE" export --to hf "$@" 2> export.log || { cat export.log >&2; fail "export $*"; }; }
has() { contains "$2" < "$1/README.md" || fail "no /$2/ in $(cat "$1/README.md")"; }
has_not() { contains "$2" < "$1/README.md" && fail "/$2/ in $1/README.md: $(cat matches.txt)"; true; }

"$GYRE" train mlm --config "$ROOT/tools/recipes/mlm-small.toml" --train-sets "$work/books.tok" --vocab "$work/vocab.txt" \
  --model "$work/little" --max-length 32 --mini-batch 4 $small --after 12u --save-freq 4u --valid-freq 4u --keep-last 3
export_to --model little --output hf
same "metadata without claims" "$(awk '$0 == "---" { n++; next } n == 1' hf/README.md | paste -sd' ')" \
  "library_name: transformers pipeline_tag: fill-mask tags: - roformer - gyre"
has hf '^# little$'
has hf '^`RoFormerForMaskedLM`, a masked language model, trained with Gyre [0-9.]+\. Exported by Gyre [0-9.]+\.$'
has hf '^- encoder-only, 1 layer '
has hf '^- a vocabulary of 300 pieces \(wordpiece\)$'
has hf '^- training: `books\.tok` \(a token store of [0-9,]+ bytes: 20 documents, [0-9,]+ tokens\)$'
has hf '^- validation: a share of 0\.2 of it, held out$'
has hf '^[0-9]+ updates on [0-9]+ samples with [0-9,]+ tokens, in '
has hf '^\| learn-rate \| 0\.001 \|$'
has hf '^\| micro-batches \| 1 \|$'
same "each option once" "$(sed -n '/^| option /,/^$/p' hf/README.md | cut -d '|' -f 2 | sort | uniq -d)" ""
has hf '^\| mask-share \| 0\.15 \|$'
has hf '^\| transformer-dropout \| 0 \|$'
has hf '^\| accuracy \| [01]\.[0-9]{4} \| (4|8|12) \|$'
has hf 'pipeline\("fill-mask", model="\."\)'
has hf '^- Samples of the training had at most 32 tokens\.$'
has_not hf "$work"
has_not hf '[0-9a-f]{12}' # checksums
rejects 1 'holds a model already \(config.json\)' "$GYRE" export --to hf --model little --output hf
echo mine > hf/README.md
export_to --model little --output hf --overwrite --title 'A "little" encoder' --language no --license mit
has hf '^language: "no"$'
has hf '^license: "mit"$'
has hf '^# A "little" encoder$'
mkdir own && echo mine > own/README.md
rejects 1 'holds a model already \(README.md\)' "$GYRE" export --to hf --model little --output own
check "a rejected export writes nothing" test "$(ls own)" = README.md
rejects 2 '--title. expected one line' "$GYRE" export --to hf --model little --output new --title $'a\nb'

printf 'more text\n\n' >> books.txt
"$GYRE" data build --vocab vocab.txt --source books.txt --documents blank-line --output books.tok 2> build.log
export_to --model little --output changed
has changed '^- training: `books\.tok`$'
"$GYRE" checkpoint average --model little --last 2 > average.txt
export_to --model little --checkpoint average --output mean
has mean 'The weights are the mean of 2 checkpoints; '
has mean 'the mean of several checkpoints, which was not validated'
"$GYRE" checkpoint average --model little --checkpoints step-00000004 step-00000008 > average.txt
export_to --model little --checkpoint average --output chosen
has chosen '^8 updates on [0-9]+ samples '

{ printf 'sentence\tlabel\n'; for i in 1 2 3 4; do printf 'a man sleeps\tgood\na dog runs\tbad\n'; done; } > train.tsv
"$GYRE" train classify --pretrained-model "$work/little" --train-sets "$work/train.tsv" --valid-sets train.tsv --text-column sentence \
  --label-column label --labels good bad --model classifier --max-length 32 --mini-batch 4 --after 2e --quiet
export_to --model classifier --output classes
has classes '^pipeline_tag: text-classification$'
has classes '^`RoFormerForSequenceClassification`, a classifier of texts, trained'
has classes '^The training started from the model `little`\.$'
has classes '^- training: `train\.tsv`$'
has classes '^- class 1: `bad`$'
for part in '"1": "bad"' '"bad": 1'; do contains "$part" < classes/config.json || fail "no $part in $(cat classes/config.json)"; done
has classes 'pipeline\("text-classification", model="\."\)'
has_not classes "$work"

"$GYRE" import --from hf "$ROOT/tests/train/golden/hugging_face/bert" --output imported 2> import.log
export_to --model imported --output again
has again ', imported into Gyre from `bert`\. Exported'
for heading in 'Training data' Training Validation; do has_not again "^## $heading"; done
has_not again "$ROOT"

# Without its checkpoints, an average says nothing about the training.
rm -r little/checkpoints/step-0000000[48]
export_to --model little --checkpoint average --output pruned
has_not pruned '^## Training$'

# The card of a staged run names the files that its stages read, and the longest samples, up to the exported checkpoint.
cp books.txt other.txt
cp books.txt last.txt
stage() { printf '[[stage]]\nupdates = 1\ntrain-sets = ["%s/%s.txt"]\n' "$work" "$1"; }
{ stage other; stage other; echo 'max-length = 40'; stage last; } > stages.toml
"$GYRE" train mlm --config stages.toml --train-sets books.txt --vocab vocab.txt --model staged --max-length 16 --mini-batch 4 $small
export_to --model staged --checkpoint step-00000002 --output staged-hf
has staged-hf '^- training: `other\.txt`$'
has_not staged-hf 'books\.txt'
has staged-hf 'Samples of the training had at most 40 tokens'
has_not staged-hf '[0-9a-f]{12}'
has_not staged-hf 'last\.txt'
has_not staged-hf 'stage from update 2'
has staged-hf 'stage from update 1'
export_to --model staged --checkpoint step-00000001 --output first-hf
has first-hf 'Samples of the training had at most 16 tokens'
has_not first-hf 'stage from update 1'
