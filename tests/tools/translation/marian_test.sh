#!/usr/bin/env bash
# Tests translation models in the formats of other programs, two vocabularies, prefixes and alignments from outside.
. "$(dirname "$0")/../lib.sh"
translate() { "$GYRE" translate --quiet --input test.en --max-length-factor 0.5 "$@"; }
golden=$ROOT/tests/train/golden/marian/swish

small_corpus
for layout in transformers half-split interleaved; do
  small_train --model $layout --after 60u --learn-rate 0.01 --lr-warmup 20 --quiet --norm post --position sinusoidal \
    --sinusoid-layout $layout
done

# To transformers' format and back: the same translations and the same scores.
for layout in transformers half-split interleaved; do
  "$GYRE" export --to hf --model $layout --output hf-$layout 2> export.log
  contains 'made hf-.*: MarianMTModel of [0-9]+ parameters in [0-9]+ tensors, a vocabulary of 300 pieces' < export.log ||
    fail "$(cat export.log)"
  "$GYRE" import --from hf hf-$layout --output back-$layout 2> import.log
  contains 'made back-.*: encoder-decoder of [0-9]+ parameters in .* a vocabulary of 301 pieces' < import.log ||
    fail "$(cat import.log)"
  check "the same translations with $layout" cmp <(translate --model $layout) <(translate --model back-$layout)
  "$GYRE" score --quiet --model $layout --source test.en --target test.de > scores
  "$GYRE" score --quiet --model back-$layout --source test.en --target test.de > back-scores
  check "the same scores with $layout" near scores back-scores
done
for file in config.json model.safetensors generation_config.json source.spm target.spm vocab.json tokenizer_config.json README.md; do
  [ -s hf-transformers/$file ] || fail "no $file"
done
contains '^pipeline_tag: translation$' < hf-transformers/README.md || fail "the model card"
contains 'from transformers import MarianMTModel, MarianTokenizer' < hf-transformers/README.md || fail "its example"
"$GYRE" export --to hf --model back-transformers --output again 2> export.log
"$GYRE" import --from hf again --output again-run 2> import.log
check "an imported model comes back" cmp <(translate --model transformers) <(translate --model again-run)
rejects 1 'holds a model already .config.json.: use --overwrite' "$GYRE" export --to hf --model transformers --output again
"$GYRE" export --to hf --model half-split --output again --overwrite 2> export.log
check "another model over it" cmp hf-half-split/model.safetensors again/model.safetensors

# The golden model, and its fine-tuning.
"$GYRE" import --from hf "$golden" --output opus 2> import.log
echo 'the cat is here' > cat.en
same "a line for a line" "$("$GYRE" translate --quiet --model opus < cat.en | wc -l)" 1
"$GYRE" train nmt --pretrained-model opus --train-sets train.en train.de --max-length 40 --after 2u --model tuned \
  --cpu-threads 1 --quiet
same "a tuned model translates" "$("$GYRE" translate --quiet --model tuned < cat.en | wc -l)" 1
"$GYRE" train nmt --model tuned --after 4u --quiet
rejects 1 'which only translation reads' "$GYRE" train lm --train-sets train.en --vocab opus/vocab.model --after 1u --model lm --quiet

# A bias of the output projection, in fp32 and int8.
small_train --model bias --after 20u --learn-rate 0.01 --quiet --output-bias
same "a bias" "$(translate --model bias | wc -l)" 20
same "a bias in int8" "$(translate --model bias --precision int8 | wc -l)" 20

# What another program cannot represent is refused, and nothing is written.
small_train --model rope --after 1u --quiet
rejects 1 'position: expected "sinusoidal", got "rope"' "$GYRE" export --to hf --model rope --output no
small_train --model alibi --after 1u --quiet --position alibi
rejects 1 'position: expected sinusoidal, learned, shaw or rope, got alibi' "$GYRE" export --to ctranslate2 --model alibi --output no
[ ! -e no ] || fail "a refused export left files"

# Two vocabularies.
"$GYRE" vocab --input train.en --type bpe --size 200 --output en.model 2> vocab.log
"$GYRE" vocab --input train.de --type unigram --size 250 --output de.model 2> vocab.log
two() { "$GYRE" train nmt --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 \
  --mini-batch-words 400 --cpu-threads 1 --quiet --vocab en.model de.model "$@"; }
two --train-sets train.en train.de --valid-sets val.en val.de --model two --after 30u --learn-rate 0.01 --lr-warmup 10
contains '"target_vocab_size": 250' < two/config.json || fail "the size of the second vocabulary"
pieces=$(ls two/vocab*)
same "pieces of the sources" "$("$GYRE" encode --vocab "$pieces" < test.en)" "$("$GYRE" encode --vocab en.model < test.en)"
same "pieces of the targets" "$("$GYRE" encode --targets --vocab "$pieces" < test.de)" "$("$GYRE" encode --vocab de.model < test.de)"
rejects 1 'expected a pair of vocabularies, got bpe' "$GYRE" encode --targets --vocab en.model
for plan in '--pretrained-model two' "--vocab $pieces --preset transformer-tiny --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1" \
  '--vocab en.model de.model --preset transformer-tiny --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1'; do
  # shellcheck disable=SC2086
  "$GYRE" plan nmt $plan --gflops 100 --memory-gb 10 --sentence-length 20 --json | grep -oE '"parameters":[0-9]+' >> parameters
done
same "a plan has both sizes" "$(sort -u parameters | wc -l)" 1
"$GYRE" data build --vocab en.model de.model --source train.en --target train.de --output two.tok 2> build.log
two --train-sets two.tok --model store --after 30u --learn-rate 0.01 --lr-warmup 10
check "text and its token store" cmp <(translate --model two --checkpoint last) <(translate --model store)
check "its files in place of the copy" cmp <(translate --model two) <(translate --model two --vocab en.model de.model)
rejects 1 'does not fit the model' "$GYRE" translate --quiet --model two --vocab de.model en.model
mv en.model moved.model
"$GYRE" train nmt --model two --after 32u --quiet
mv moved.model en.model
same "scores" "$("$GYRE" score --quiet --model two --source test.en --target test.de | wc -l)" 20
"$GYRE" export --to ctranslate2 --model two --output two-ct2 2> export.log
for file in model.bin config.json source_vocabulary.json target_vocabulary.json source.spm target.spm; do
  [ -s two-ct2/$file ] || fail "no $file"
done
cmp -s two-ct2/source.spm en.model || fail "source.spm"
rejects 1 'tied_embeddings: expected true, got false' "$GYRE" export --to hf --model two --output no
"$GYRE" export --to ctranslate2 --model transformers --output ct2 2> export.log
contains 'made ct2: a TransformerSpec of [0-9]+ parameters in [0-9]+ tensors, a vocabulary of 300 pieces' < export.log || fail "$(cat export.log)"
same "the name of the format" "$(head -c 21 ct2/model.bin | tail -c 15)" TransformerSpec
rejects 1 'holds a model already' "$GYRE" export --to ctranslate2 --model transformers --output ct2

# Prefixes and alignments.
translate --model transformers --prefix 'Der alte Mann' > prefixed.de
same "every line begins with it" "$(grep -c '^Der alte Mann' prefixed.de)" 20
rejects 1 '^gyre: --prefix: expected a prefix of pieces that a translation may have, got .*unk' \
  "$GYRE" translate --quiet --model transformers --prefix 'Ŧ Der' --input test.en
translate --model transformers > free.de
printf '%.0s\n' $(seq 20) > prefixes
check "empty prefixes change nothing" cmp free.de <(translate --model transformers --prefix-file prefixes)
translate --model transformers --beam-size 1 > greedy.de
cut -d ' ' -f 1 greedy.de > prefixes
check "a greedy translation continues its own first word" cmp greedy.de \
  <(translate --model transformers --beam-size 1 --prefix-file prefixes --mini-batch 3)
head -n 19 prefixes > fewer
rejects 1 'fewer: expected a line for each line of test.en, got only 19' "$GYRE" translate --quiet --model transformers --input test.en --prefix-file fewer
translate --model transformers --alignment > aligned.de
check "alignments follow the translations" cmp free.de <(sed 's/ |||.*//' aligned.de)
[ "$(grep -cE '^.* \|\|\|( [0-9]+-[0-9]+)*$' aligned.de)" -eq 20 ] || fail "$(head -n 3 aligned.de)"
translate --model transformers --alignment --n-best 2 > aligned.nbest
[ "$(grep -cE '^[0-9]+ \|\|\| .* \|\|\| F0= [-0-9.]+ \|\|\| [-0-9.]+ \|\|\|( [0-9]+-[0-9]+)*$' aligned.nbest)" -eq 40 ] || fail "$(head -n 3 aligned.nbest)"
