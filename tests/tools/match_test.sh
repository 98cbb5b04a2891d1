#!/usr/bin/env bash
# Tests text matching from outside: from a pretrained encoder to predictions, and the errors of wrong calls and files.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools

# Prints triplets of letters as a table. Texts are near if their letters are from the same half of the alphabet.
letters() { # letters TRIPLETS SEED
  awk -v triplets="$1" -v seed="$2" '
    function text(half,    first, out, k) {
      first = int(rand() * 4) + 9 * half
      out = ""
      for (k = 0; k < 3; k++) out = out (k ? " " : "") substr("abcdefghijklmnopqr", first + k + 1, 1)
      return out
    }
    BEGIN {
      srand(seed)
      print "A\tB\tC\tlabel"
      for (i = 0; i < triplets; i++) {
        half = int(rand() * 2)
        turned = int(rand() * 2)
        print text(half) "\t" text(turned ? 1 - half : half) "\t" text(turned ? half : 1 - half) "\t" (turned ? "C" : "B")
      }
    }'
}
letters 80 1 > train.tsv
letters 20 2 > dev.tsv
awk -F '\t' 'NR > 1 { printf "{\"A\": \"%s\", \"B\": \"%s\", \"C\": \"%s\", \"label\": \"%s\"}\n", $1, $2, $3, $4 }' dev.tsv > dev.jsonl
cut -f 1,2 train.tsv | tail -n +2 | tr '\t' '\n' | awk '{ print } NR % 5 == 0 { print "" }' > documents.txt
build/gyre vocab --input documents.txt --type wordpiece --size 60 --output vocab.txt 2> vocab.log
small="--dim-emb 16 --layers 2 --transformer-heads 2 --transformer-dim-ffn 32"
build/gyre train mlm --preset roformer-mini $small --train-sets documents.txt --vocab vocab.txt --max-length 16 \
  --fill segment --mini-batch 8 --after 20u --model run/ --quiet || fail "pretraining"

# A plan takes the encoder from the pretrained model or from the options. A triplet is two pairs of --max-length tokens.
plan() { build/gyre plan match --config tools/recipes/scm-match.toml --ranks 1 --gflops 10 --memory-gb 5 --json "$@"; }
plan --pretrained-model run/ --max-length 32 --epoch-items 50 > plan.json
check "the tokens of a planned update" grep -q '"tokens_per_step":256' plan.json
check "epochs as updates of 4 triplets" grep -q '"run":{"updates":260,' plan.json
check "the vocabulary of the pretrained model" grep -q "\"vocabulary\":$(wc -l < vocab.txt)," plan.json
plan --architecture roformer-mini $small --vocab-size 100 --max-length 32 > plan.json
check "without the size of an epoch there is no total" test "$(grep -c '"run"' plan.json)" = 0
rejects 2 '--dim-emb would have no effect: --pretrained-model defines the encoder' plan --pretrained-model run/ --dim-emb 64
rejects 2 '--vocab would have no effect: --pretrained-model has its own' plan --pretrained-model run/ --vocab vocab.txt
rejects 2 'max-length\] expected at most 30, the number of positions' plan --architecture bert-mini --max-positions 30
rejects 2 '--epoch-items would have no effect: with --weak' plan --architecture roformer-mini --epoch-items 50 --weak
rejects 2 '--epoch-items would have no effect: --after is not a number of epochs' plan --architecture roformer-mini --epoch-items 50 --after 10

# The commands of the manual.
build/gyre train match --config tools/recipes/scm-match.toml --pretrained-model run/ --train-sets train.tsv \
  --valid-sets dev.jsonl --model scm/ --after 2e 2> train.log || { cat train.log >&2; fail "training"; }
check "the head" grep -q '"classifier_head": "mean"' scm/config.json
check "the task" grep -q '"task": "match"' scm/task.json
same "updates of 4 triplets" "$(tail -n 1 scm/metrics.jsonl | grep -o '"updates":40')" '"updates":40'
same "the rate of the recipe" "$(sed -n 's/^learn-rate = //p' scm/train.toml)" "6e-06"
build/gyre train match --model scm/ --after 3e 2> again.log || { cat again.log >&2; fail "continuing"; }
same "the run continued" "$(tail -n 1 scm/metrics.jsonl | grep -o '"updates":60')" '"updates":60'

# Random weights learn with the default rate for them, and the predictions are those of the accuracy.
for loss in cross-entropy margin-loss; do
  build/gyre train match --vocab vocab.txt --architecture bert-mini $small --transformer-dropout 0 --max-length 16 --loss $loss \
    --train-sets train.tsv --valid-sets dev.tsv --learn-rate 1e-2 --after 40e --valid-freq 10e --model $loss/ --quiet || fail "$loss"
  build/gyre evaluate match --model $loss/ --input dev.jsonl --json > $loss.json 2> report.txt || { cat report.txt >&2; fail "evaluation"; }
  check "metrics in JSON" grep -qE "^\{\"triplets\":20,\"accuracy\":1.0,\"$loss\":[0-9.e-]+,\"predictions\":\[\{\"line\":1,\"B\":-?[0-9.e-]+,\"C\":-?[0-9.e-]+,\"nearer\":\"[BC]\"\}," $loss.json
  same "predictions" "$(grep -o '"nearer":"[BC]"' $loss.json | cut -d '"' -f 4 | tr -d '\n')" "$(cut -f 4 dev.tsv | tail -n +2 | tr -d '\n')"
done
cp -r margin-loss wider
build/gyre train match --model wider/ --margin 3 --after 50e --quiet 2> wider.log
check "scores with another margin are not compared" contains 'start anew \(margin 1 -> 3' < wider.log
grep -o '"B":[^,]*,"C":[^,]*' margin-loss.json | sed 's/"[BC]"://g' | tr ',' '\n' > expected.scores
sed '1d' dev.tsv | awk -F '\t' '{ print $1 "\t" $2; print $1 "\t" $3 }' | build/gyre predict --model margin-loss/ > got.scores 2> predict.txt
same "scores of single pairs" "$(paste expected.scores got.scores | awk '($1 - $2) ^ 2 < 1e-8' | wc -l)" 40
check "a report of the triplets" grep -qE '^dev.jsonl: 20 triplets; nearer: [0-9]+ x B, [0-9]+ x C; 0 of 40 pairs truncated to 16 tokens$' report.txt
same "text" "$(build/gyre evaluate match --model margin-loss/ --input dev.tsv 2> report.txt | head -n 2 | tr '\n' ' ')" "triplets: 20 accuracy: 1.0 "
build/gyre evaluate match --model margin-loss/ --input dev.tsv --max-length 6 2> report.txt > short.txt
check "truncated pairs" grep -q '; 40 of 40 pairs truncated to 6 tokens$' report.txt
build/gyre inspect anomaly --model margin-loss/ --checkpoint last --updates 3 2> report.txt | contains 'all gradients are finite' || { cat report.txt >&2; fail "replay"; }

# Errors name the file and the line, and leave no run directory.
tune() { build/gyre train match --pretrained-model run/ --model bad --quiet --max-length 16 "$@"; }
sed '7s/.$/A/' train.tsv > label.tsv
rejects 1 'label.tsv:7: expected the label "B" or "C", got "A"' tune --train-sets label.tsv
sed '9s/"C"/"D"/' dev.jsonl > key.jsonl
rejects 1 'key.jsonl:9: expected a text "C", got none' tune --train-sets key.jsonl
rejects 1 'key.jsonl:9: expected a text "C", got none' build/gyre evaluate match --model scm/ --input key.jsonl
same "bad lines can be skipped" "$(build/gyre evaluate match --model scm/ --input key.jsonl --on-bad-line skip 2> report.txt | head -n 1)" "triplets: 19"
rejects 1 'documents.txt:1: expected a JSON object, or a header line with one column "A"' tune --train-sets documents.txt
rejects 1 'missing.tsv' tune --train-sets missing.tsv
rejects 1 'run/task.json' build/gyre evaluate match --model run/ --input dev.tsv
rejects 1 'task.json: expected a classifier.s task' build/gyre evaluate classify --model scm/ --input dev.tsv
rejects 2 '--margin would have no effect: --loss is not margin-loss' tune --train-sets train.tsv --margin 2
rejects 2 '--swap-texts. expected a probability' tune --train-sets train.tsv --swap-texts 2
rejects 2 '--valid-metrics. expected one of accuracy, cross-entropy, got .margin-loss' tune --train-sets train.tsv --valid-sets dev.tsv --valid-metrics margin-loss
rejects 2 '--max-length. expected at most 512, the number of positions of the model .see --max-positions., got 1024' \
  build/gyre train match --vocab vocab.txt --architecture bert-mini --train-sets train.tsv --model bad --quiet
rejects 2 '--dim-emb would have no effect: --pretrained-model defines the encoder' tune --dim-emb 8 --train-sets train.tsv
[ ! -e bad/checkpoints/last ] || fail "a wrong call trained"
