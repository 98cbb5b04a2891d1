#!/usr/bin/env bash
# Tests vocabularies of Chinese words from outside: --tokenizer wobert, training them, and runs that keep the dictionary.
. "$(dirname "$0")/../lib.sh"

printf '%s 50 n\n' 中国 国人 研究 研究生 生命 起源 > dict.txt
sentences=(研究生命起源 研究生命 中国人的研究 中国研究生 生命的起源，C++)
for i in $(seq 60); do
  echo "${sentences[i % 5]}${sentences[i % 3]}"
  [ $((i % 6)) -ne 0 ] || echo
done > text
"$GYRE" vocab --type wobert --input text --dictionary dict.txt --size 60 --output chinese.model 2> vocab.log
grep -q 'chinese.model: .* pieces (wobert)' vocab.log || fail "the summary of vocab: $(cat vocab.log)"
encode() { "$GYRE" encode "$@"; }
same "words" "$(echo 研究生命起源 | encode --vocab chinese.model)" "研究 生命 起源"
same "decoding" "$(echo 研究 生命 | "$GYRE" decode --vocab chinese.model)" "研究 生命"

printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' 中 国 研究 研 究 生 生命 命 起 源 人 的 ， c + > vocab.txt
words="--vocab vocab.txt --tokenizer wobert --dictionary dict.txt"
same "characters" "$(echo 研究生命 | encode --vocab vocab.txt)" "研 究 生 命"
same "words of a vocab.txt" "$(echo 研究生命，中国 | encode $words)" "研究 生命 ， 中 国"
"$GYRE" vocab --type wobert --vocab vocab.txt --dictionary dict.txt --output one.model 2> vocab.log
same "one file" "$(encode --vocab one.model --ids < text | cksum)" "$(encode $words --ids < text | cksum)"

small="--layers 1 --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --max-length 32 --after 2u --quiet --cpu-threads 1"
"$GYRE" train mlm --preset roformer-mini --train-sets text $words --valid-share 0.2 --model run/ $small
"$GYRE" data build $words --source text --documents blank-line --output text.tok 2> build.log
"$GYRE" train mlm --preset roformer-mini --train-sets text.tok $words --valid-share 0.2 --model store/ $small
check "text and its token store" cmp run/checkpoints/last/model.safetensors store/checkpoints/last/model.safetensors
"$GYRE" export --to hf --model run/ --output hf/ 2> export.log
grep -q 'without the dictionary' export.log || fail "the note on the dictionary: $(cat export.log)"
check "the exported pieces" cmp vocab.txt hf/vocab.txt
check "the pieces as transformers 5 reads them" grep -q '"vocab":{.*"研究":7,.*}' hf/tokenizer.json
check "the exported tokenizer" grep -q '"tokenizer_class": "RoFormerTokenizer"' hf/tokenizer_config.json
"$GYRE" import --from hf hf/ --output plain/ 2> import.log
grep -q -- '--tokenizer wobert' import.log || fail "the note on words: $(cat import.log)"
"$GYRE" import --from hf hf/ --tokenizer wobert --dictionary dict.txt --output back/ 2> import.log
check "the vocabulary after import" cmp run/vocab.txt back/vocab.txt
rejects 1 'vocab.txt:1: expected "word frequency"' "$GYRE" import --from hf hf/ --tokenizer wobert --dictionary vocab.txt --output none/

# Commands that read a trained model need neither the vocabulary nor the dictionary.
mkdir away
mv vocab.txt dict.txt away/
same "the vocabulary of a run" "$(echo 研究生命 | encode --vocab run/vocab.txt)" "研究 生命"
printf '研究生命\t0\n中国人\t1\n研究\t0\n中国\t1\n' > rows.tsv
"$GYRE" train classify --train-sets rows.tsv --text-column 0 --label-column 1 --labels 0 1 --pretrained-model run/ \
  --mini-batch 2 --model classifier/ --max-length 16 --after 2u --quiet --cpu-threads 1
check "the vocabulary of the classifier" cmp run/vocab.txt classifier/vocab.txt

mv away/* .
rejects 2 '--dictionary is missing' "$GYRE" encode --vocab vocab.txt --tokenizer wobert
rejects 2 '--dictionary: expected --tokenizer wobert, got auto' "$GYRE" encode --vocab vocab.txt --dictionary dict.txt
rejects 1 'vocab.txt:1: expected "word frequency"' "$GYRE" encode --vocab vocab.txt --tokenizer wobert --dictionary vocab.txt
from_corpus bytes.model
rejects 1 'expected BERT.s vocab.txt for the tokenizer wobert, got a vocabulary of kind bytes' "$GYRE" encode --vocab bytes.model --tokenizer wobert --dictionary dict.txt
rejects 2 'expected either --input .* or --vocab' "$GYRE" vocab --type wobert --dictionary dict.txt --output new.model
rejects 2 '--dictionary is missing' "$GYRE" vocab --type wobert --input text --output new.model
rejects 2 '--size would have no effect: --vocab is trained already' "$GYRE" vocab --type wobert --vocab vocab.txt --dictionary dict.txt --size 9 --output new.model
rejects 2 'also an input' "$GYRE" encode $words --input text --output dict.txt
rejects 2 '--tokenizer would have no effect: --pretrained-model has its own vocabulary' "$GYRE" train classify --train-sets rows.tsv \
  --labels 0 1 --pretrained-model run/ --tokenizer wobert --dictionary dict.txt --model new/
