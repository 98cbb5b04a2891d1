#!/usr/bin/env bash
# Creates the runs in this folder: a tiny run of each kind, with one checkpoint and the results of the same program.
# old_runs_test.sh checks that later programs read these runs and compute the same results. The program of commit
# 01b8e95 created the files. Do not replace them with files of a later program, because the test would then check
# nothing.
#   make.sh PROGRAM OUTPUT
set -euo pipefail
gyre=$(realpath "$1")
mkdir -p "$2"
cd "$2"
export OMP_NUM_THREADS=1

# sentences: writes train.en, val.en, test.en and their word-for-word German translations
sentences() {
  awk 'BEGIN {
    split("dog cat bird teacher farmer child", english_subjects); split("Hund Kater Vogel Lehrer Bauer Junge", german_subjects)
    split("sees hears draws counts", english_verbs); split("sieht hört malt zählt", german_verbs)
    split("two three four five", english_numbers); split("zwei drei vier fünf", german_numbers)
    split("apples stones houses trees lamps books", english_objects); split("Äpfel Steine Häuser Bäume Lampen Bücher", german_objects)
    for (s = 1; s <= 6; ++s) for (v = 1; v <= 4; ++v) for (o = 1; o <= 6; ++o) {
      n = (s + v + 2 * o) % 4 + 1
      i = (s * 5 + v * 7 + o * 11) % 13
      if (i > 8) continue
      set = i == 0 ? "test" : i == 1 ? "val" : "train"
      print "the", english_subjects[s], english_verbs[v], english_numbers[n], english_objects[o] > (set ".en")
      print "der", german_subjects[s], german_verbs[v], german_numbers[n], german_objects[o] > (set ".de")
    }
  }'
}

# losses RUN: prints the updates and the loss of each training entry
losses() { sed -n 's/.*"event":"train","updates":\([0-9]*\),.*"loss":\([0-9.e-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }

# go_on COMMAND UPDATE: resumes a copy of the run up to this update and writes the losses to losses.expected
go_on() {
  cp -a run went_on
  "$gyre" train "$1" --config run/train.toml --model went_on --after "${2}u" --disp-freq 1u --save-freq "${2}u"
  losses went_on | tail -n 10 > losses.expected
  rm -rf went_on run/.lock run/events.out.tfevents.* # these files name the machine and are not needed to resume
}

small="--dim-emb 8 --transformer-heads 2 --transformer-dim-ffn 16"
end() { echo "--after $1u --save-freq $1u --valid-freq $1u --disp-freq $1u --keep-last 1 --threads 1 --quiet"; }

mkdir translation && cd translation
sentences
rm test.*
"$gyre" vocab --input train.en train.de --type bpe --size 100 --character-coverage 1 --normalization identity --output vocab.model
"$gyre" train nmt --train-sets train.en train.de --valid-sets val.en val.de --vocab vocab.model --model run $small $(end 2000) \
  --enc-depth 1 --dec-depth 1 --norm pre --mini-batch-words 200 --learn-rate 1e-2 --lr-warmup 50 --valid-metrics cross-entropy \
  --transformer-dropout 0
head -n 8 train.en > input.en
"$gyre" translate --model run --input input.en --output translations.expected --quiet
go_on nmt 2010

# Marian's names of options. The test also uses fairseq's names.
"$gyre" train nmt --train-sets train.en train.de --vocabs vocab.model --model spelled --task transformer-tiny --dim-emb 8 \
  --enc-depth 1 --dec-depth 1 --transformer-heads 2 --transformer-dim-ffn 16 --transformer-dropout 0.2 \
  --transformer-ffn-activation gelu --transformer-train-position-embeddings --mini-batch-words 100 --optimizer-delay 2 \
  --learn-rate 1e-2 --lr-warmup 3 --optimizer-params 0.9 0.95 1e-8 --clip-norm 1 --exponential-smoothing 0.1 --after-batches 5 \
  --disp-freq 1 --cpu-threads 1 --quiet
losses spelled > spelled.expected
rm -rf spelled
cd ..

mkdir lm && cd lm
sentences
for set in train val; do awk '{ print } NR % 6 == 0 { print "" }' $set.en > $set.txt; done
rm ./*.en ./*.de
"$gyre" vocab --input train.txt --type bpe --size 60 --character-coverage 1 --normalization identity --output vocab.model
"$gyre" train lm --train-sets train.txt --valid-sets val.txt --vocab vocab.model --model run $small $(end 400) --layers 1 \
  --position shaw --optimizer adamw --weight-decay 0.01 --clip-norm 1 --ema 0.9 --max-length 32 --mini-batch 8 \
  --learn-rate 1e-2 --lr-warmup 20
"$gyre" evaluate perplexity --model run --input val.txt --json > perplexity.expected
go_on lm 410
cd ..

mkdir mlm && cd mlm
cp ../lm/train.txt .
"$gyre" vocab --input train.txt --type wordpiece --size 60 --output vocab.txt
"$gyre" train mlm --train-sets train.txt --valid-share 0.2 --vocab vocab.txt --model run $small $(end 400) --layers 1 \
  --max-length 24 --mini-batch 8 --learn-rate 1e-2 --lr-warmup 20 --lr-schedule constant
echo "2 20 30 40 3" > ids.txt
"$gyre" forward --model run --ids ids.txt --output logits.safetensors
tail -c $((4 * 5 * $(wc -l < vocab.txt))) logits.safetensors | od -An -v -t f4 -w20 > logits.expected
rm logits.safetensors
go_on mlm 410
cd ..

# Sentences with an even number have class 1.
mkdir classifier && cd classifier
sentences
for set in train val; do
  { printf 'sentence\tlabel\n'; awk -v OFS='\t' '{ print $0, /two|four/ ? 1 : 0 }' $set.en; } > $set.tsv
done
rm ./*.en ./*.de
"$gyre" train classify --preset glue-sst2 --pretrained-model ../mlm/run --train-sets train.tsv --valid-sets val.tsv --model run \
  $(end 400) --mini-batch 8 --learn-rate 3e-3 --total-updates 500 --max-length 32
"$gyre" evaluate classify --model run --input val.tsv --output labels.expected --json > metrics.expected
go_on classify 410
