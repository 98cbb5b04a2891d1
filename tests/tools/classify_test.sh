#!/usr/bin/env bash
# Tests fine-tuning from outside: from a pretrained encoder to metrics, and the errors of wrong calls and files.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools

# Prints rows of letters in alphabetical order. Rows whose first letter is before "f" have class 1.
letters() { # letters ROWS SEED
  awk -v rows="$1" -v seed="$2" 'BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
      first = int(rand() * 10)
      text = ""
      for (k = 0; k < 3 + i % 4; k++) text = text (k ? " " : "") substr("abcdefghijklmnopqr", first + k + 1, 1)
      print text "\t" (first < 5 ? 1 : 0) "\t" first / 2
    }
  }'
}
letters 80 1 > train.rows
letters 20 2 > dev.rows
for set in train dev; do
  (printf 'sentence\tlabel\n'; cut -f 1,2 $set.rows) > $set.tsv
  (printf 'index\tquestion\tsentence\tlabel\n'
    awk -F '\t' -v OFS='\t' '{ print NR - 1, $1, last, $2 ? "entailment" : "not_entailment"; last = $1 }' last="a b" $set.rows) > $set.qnli
done
cut -f 1 train.rows | awk '{ print } NR % 5 == 0 { print "" }' > documents.txt
build/gyre vocab --input documents.txt --type wordpiece --size 60 --output vocab.txt 2> vocab.log
small="--dim-emb 16 --layers 1 --transformer-heads 2 --transformer-dim-ffn 32"
build/gyre train mlm --preset roformer-mini $small --train-sets documents.txt --vocab vocab.txt --max-length 16 \
  --fill segment --mini-batch 8 --after 20u --model run/ --quiet || fail "pretraining"

# The commands of the manual.
build/gyre train classify --preset glue-sst2 --pretrained-model run/ --train-sets train.tsv --valid-sets dev.tsv --model sst2/ 2> train.log ||
  { cat train.log >&2; fail "training"; }
build/gyre evaluate classify --model sst2/ --input dev.tsv --json > metrics.json 2> report.txt || { cat report.txt >&2; fail "evaluation"; }
check "metrics in JSON" grep -qE '^\{"rows":20,"accuracy":[0-9.]+,"cross-entropy":[0-9.]+\}$' metrics.json
check "a report of the rows" grep -qE '^dev.tsv: 20 rows; labels: [0-9]+ x 0, [0-9]+ x 1$' report.txt
check "the head of RoFormer" grep -q '"classifier_head": "roformer"' sst2/config.json
check "columns of the preset" grep -q '"name": "sentence"' sst2/task.json
same "three epochs of the rows in 32s" "$(tail -n 1 sst2/metrics.jsonl | grep -o '"updates":9')" '"updates":9'
check "the run's options" grep -q '^preset = "glue-sst2"$' sst2/train.toml
check "warm-up is a share of the run" grep -q '^lr-warmup = "10%"$' sst2/train.toml

build/gyre train classify --config sst2/train.toml --after 4e 2> again.log || { cat again.log >&2; fail "continuing from train.toml"; }
same "the run continued" "$(tail -n 1 sst2/metrics.jsonl | grep -o '"updates":12')" '"updates":12'
build/gyre train classify --config sst2/train.toml --model learned/ --from-scratch --after 25e --learn-rate 3e-3 --mini-batch 8 --valid-freq 25e 2> learned.log ||
  { cat learned.log >&2; fail "training from scratch"; }
build/gyre evaluate classify --model learned/ --input dev.tsv --metrics f1 matthews --output labels.txt 2> report.txt > metrics.txt
same "an easy task is learned" "$(head -n 3 metrics.txt | tr '\n' ' ')" "rows: 20 f1: 1.0 matthews: 1.0 "
check "predicted labels" cmp labels.txt <(cut -f 2 dev.rows)
awk -F '\t' -v OFS='\t' '{ print "x", $2, $1 }' dev.rows > other.tsv
same "other columns" "$(build/gyre evaluate classify --model learned/ --input other.tsv --no-header --text-column -1 --label-column 1 2> report.txt | head -n 2 | tail -n 1)" "accuracy: 1.0"

mv learned/task.json task.json # imported models have no task.json
same "the task by name" "$(build/gyre evaluate classify --model learned/ --preset glue-sst2 --input dev.tsv 2> report.txt | head -n 2 | tail -n 1)" "accuracy: 1.0"
mv task.json learned/

# Two texts, numbers, and no pretrained model.
fresh="--vocab vocab.txt --architecture bert-mini $small --max-length 32 --after 2e --quiet"
build/gyre train pair --preset glue-qnli $fresh --train-sets train.qnli --valid-sets dev.qnli --model qnli/ || fail "pairs"
check "the head of BERT" grep -q '"classifier_head": "bert"' qnli/config.json
build/gyre evaluate classify --model qnli/ --input dev.qnli --json 2> report.txt | contains '"accuracy":' || fail "pairs: evaluation"
build/gyre train regress $fresh --no-header --text-column 0 --label-column 2 --train-sets train.rows --valid-sets dev.rows \
  --model numbers/ --after 60e --learn-rate 3e-3 --mini-batch 8 --valid-freq 60e || fail "regression"
build/gyre evaluate classify --model numbers/ --input dev.rows --json --output numbers.txt 2> report.txt > metrics.json
check "metrics of a regression" grep -qE '^\{"rows":20,"spearman":0\.9[0-9]*,"pearson":0\.9[0-9]*,"mean-squared-error":[0-9.e-]+\}$' metrics.json
same "predicted numbers" "$(grep -cE '^-?[0-9.]+(e-[0-9]+)?$' numbers.txt)" 20
build/gyre train pair --no-header --text-column 0 --second-text-column 0 --label-column 1 --labels 0 1 $fresh --head roformer \
  --train-sets train.rows --model columns/ || fail "columns by flag"
build/gyre train classify --no-header --text-column 0 --label-column 1 --labels 0 1 2 $fresh --train-sets train.rows --after 1u \
  --model three/ || fail "three classes"
rejects 2 '--metrics. expected macro-f1 with more than two classes, got f1' \
  build/gyre evaluate classify --model three/ --input dev.rows --metrics f1
rejects 2 'metrics. correlation: expected pearson or spearman, got f1' build/gyre evaluate classify --model numbers/ --input dev.rows --metrics f1

# gyre predict reads lines without labels. Its labels and scores are those of the evaluation.
cut -f 1 dev.rows > dev.txt
predict() { build/gyre predict "$@" 2> report.txt; }
check "labels of lines" cmp <(predict --model learned/ < dev.txt | cut -f 1) labels.txt
predict --model learned/ --input dev.txt --output predicted.tsv --max-length 5
same "a report of the lines" "$(tail -n 1 report.txt)" "dev.txt: 20 lines, $(awk 'NF > 3' dev.txt | wc -l) truncated to 5 tokens"
check "scores of lines" cmp <(predict --model numbers/ --input dev.txt) numbers.txt
for batch in "--mini-batch 1 --maxi-batch 1" "--mini-batch 3 --maxi-batch 2" "--mini-batch 2000000000"; do
  # shellcheck disable=SC2086 # several options
  check "labels with $batch" cmp <(predict --model learned/ $batch < dev.txt | cut -f 1) labels.txt
done
predict --model learned/ --top-k 2 --output both.tsv < dev.txt
same "all labels, the most probable first" "$(awk -F '\t' 'NF == 4 && $2 >= $4 && ($2 + $4 - 1) ^ 2 < 1e-11' both.tsv | wc -l)" 20
check "the labels in JSON" cmp <(predict --model learned/ --json < dev.txt | sed 's/^{"label":"\([01]\)","probabilities":{"0":[0-9.e-]*,"1":[0-9.e-]*}}$/\1/') labels.txt
same "a blank line has an empty result" "$(printf 'a b\n\n  \nf g' | predict --model learned/ | cut -f 1 | tr '\n' ,)" "1,,,0,"
same "a blank line in JSON" "$(printf '\n' | predict --model numbers/ --json)" "null"
same "a score in JSON" "$(printf 'a b\n' | predict --model numbers/ --json | grep -cE '^\{"score":-?[0-9.e-]+\}$')" 1
same "no lines" "$(predict --model numbers/ < /dev/null)" ""
{ echo a b; sleep 5; } | predict --model learned/ --mini-batch 1 --maxi-batch 1 > slow.txt &
for _ in $(seq 40); do if [ -s slow.txt ]; then break; fi; sleep 0.1; done
check "an answer before the end of the input" test -s slow.txt
wait
same "pairs" "$(printf 'a b\tc d\nf g\tf h\n' | predict --model qnli/ | grep -cE '^(not_)?entailment'$'\t''0\.[0-9]{6}$')" 2
printf 'a b\tc\na b\n' > pairs.txt
printf 'a b\t \n' > half.txt
same "a line of one text beside pairs" "$(predict --model qnli/ --input pairs.txt --json | cut -c 1-8 | tr '\n' ,)" '{"label",null,'
check "it is reported" contains '^pairs.txt: 1 line, skipped 1 with a wrong number of columns \(line 2\)$' < report.txt
rejects 1 'pairs.txt:2: expected two texts separated by a tab, got 1' build/gyre predict --model qnli/ --input pairs.txt --on-bad-line error
rejects 1 'half.txt:1: expected two texts, got one' build/gyre predict --model qnli/ --input half.txt --on-bad-line error
same "a line that is not UTF-8" "$(printf 'a b\n\xff\nf g\n' | predict --model learned/ | cut -f 1 | tr '\n' ,)" "1,,0,"
printf 'a\tb\nc\td\n' > pairs.txt
rejects 1 'pairs.txt:1: expected one text without tabs, got 2 in all lines' build/gyre predict --model learned/ --input pairs.txt
rejects 2 '--top-k. expected a number from 1 to 2, got 3' build/gyre predict --model learned/ --top-k 3 --input dev.txt
rejects 2 '--top-k would have no effect: --json has' build/gyre predict --model learned/ --top-k 2 --json --input dev.txt
rejects 2 '--top-k would have no effect: the model predicts a score' build/gyre predict --model numbers/ --top-k 2 --input dev.txt
rejects 2 '--max-length. expected at least 0, got -1' build/gyre predict --model learned/ --max-length -1 --input dev.txt
rejects 2 '--max-length. expected at most 512, the number of positions of the model, got 513' build/gyre predict --model qnli/ --max-length 513 --input pairs.txt
rejects 2 '--labels would have no effect: the task of the model' build/gyre predict --model learned/ --labels a b --input dev.txt
rejects 1 'expected labels for the 2 outputs of the model, got 3' build/gyre predict --model learned/ --preset glue-mnli --input dev.txt
rejects 1 'expected an encoder with a classification head, found' build/gyre predict --model run/ --input dev.txt

# An imported model has no task: its labels are given, or the names of its classes.
build/gyre export --to hf --model learned/ --output hf 2> export.log && build/gyre import --from hf hf --output imported 2> import.log || fail "import"
check "labels of an imported model" cmp <(predict --model imported/ --labels 0 1 < dev.txt | cut -f 1) labels.txt
check "names of classes" cmp <(predict --model imported/ < dev.txt | cut -f 1) labels.txt
check "evaluation of an imported model" cmp <(build/gyre evaluate classify --model learned/ --input dev.tsv --metrics accuracy 2> report.txt) \
  <(build/gyre evaluate classify --model imported/ --input dev.tsv 2> report.txt)
sed 's/\t1$/\tyes/; s/\t0$/\tno/' dev.tsv > words.tsv
same "other labels in the rows" "$(build/gyre evaluate classify --model imported/ --labels no yes --input words.tsv 2> report.txt | sed -n 2p)" "accuracy: 1.0"
rejects 1 'words.tsv:2: expected one of the labels "0", "1", got' build/gyre evaluate classify --model imported/ --input words.tsv
rejects 2 '--labels would have no effect: the task of the model' build/gyre evaluate classify --model learned/ --labels no yes --input dev.tsv
mv imported/task.json . # imported by earlier versions
check "numbered labels" cmp <(predict --model imported/ < dev.txt | cut -f 1) <(sed 's/^/LABEL_/' labels.txt)
check "the labels of a preset" cmp <(predict --model imported/ --preset glue-sst2 < dev.txt | cut -f 1) labels.txt
same "pairs for an imported model" "$(printf 'a\tb\n' | predict --model imported/ --pairs | grep -c '^LABEL_[01]')" 1
mv task.json imported/
rejects 2 "--labels. expected different names, got 'x' twice" build/gyre predict --model imported/ --labels x x --input dev.txt
rejects 2 '--labels. expected the names of the 2 classes of the model, got x' build/gyre predict --model imported/ --labels x --input dev.txt

# The default learning rate depends on the initial weights. A given rate overrides it, and a rate that is too small to
# train random weights causes a warning.
fast="--after 1u --mini-batch 8 --train-sets train.tsv"
# rate NAME OPTION...: prints the learning rate in the train.toml of a run, and the number of warnings in its log.
rate() {
  build/gyre train classify --preset glue-sst2 $fast --model "$@" --quiet 2> "$1.log" || { cat "$1.log" >&2; fail "$1"; }
  echo "$(sed -n 's/^learn-rate = //p' "$1/train.toml") $(grep -c 'is for fine-tuning' "$1.log")"
}
same "rate of fine-tuning" "$(rate tuned --pretrained-model run/)" "2e-05 0"
same "rate of random weights" "$(rate fresh --vocab vocab.txt --architecture bert-mini $small)" "3e-04 0"
same "rate of a pretrained model's shape" "$(rate shape --pretrained-model run/ --from-scratch)" "3e-04 0"
same "a given rate" "$(rate given --vocab vocab.txt --architecture bert-mini $small --lr 1e-4)" "1e-04 0"
same "a given rate for fine-tuning" "$(rate given-tuned --pretrained-model run/ -l 1e-6)" "1e-06 0"
same "a small rate" "$(rate small --vocab vocab.txt --architecture bert-mini $small --learn-rate 2e-5)" "2e-05 1"
echo 'learn-rate = 2e-5' > small.toml
same "a small rate in a file" "$(rate small-shape --config small.toml --pretrained-model run/ --from-scratch)" "2e-05 1"
same "a resumed run" "$(rate fresh --config fresh/train.toml --after 2u)" "3e-04 0"
build/gyre train regress --help | contains '0\.0003 for random weights' || fail "the help names no rate for random weights"

# Errors name the file and the line, and leave no run directory.
tune() { build/gyre train "$@" --pretrained-model run/ --model bad --quiet; }
sed '7s/.$/2/' train.tsv > label.tsv
rejects 1 'label.tsv:7: expected one of the labels "0", "1", got "2"' tune classify --preset glue-sst2 --train-sets label.tsv
sed '9s/\t.*//' train.tsv > column.tsv
rejects 1 'column.tsv:9: expected at least 2 tab-separated columns, got 1' tune classify --preset glue-sst2 --train-sets column.tsv
rejects 1 'train.qnli:1: expected one column named "kind" in the header line, got "index"' \
  tune classify --text-column question --label-column kind --labels 0 1 --train-sets train.qnli
rejects 1 'missing.tsv' tune classify --preset glue-sst2 --train-sets missing.tsv
rejects 1 'label.tsv:7: expected one of the labels' build/gyre evaluate classify --model sst2/ --input label.tsv
rejects 1 'expected labels for the 2 outputs of the model, got 3' build/gyre evaluate classify --model sst2/ --preset glue-mnli --input dev.tsv
same "bad rows can be skipped" "$(build/gyre evaluate classify --model sst2/ --input label.tsv --on-bad-line skip 2> report.txt | head -n 1)" "rows: 79"
rejects 1 'run/config.json: expected an encoder with a classification head, found an encoder .masked language model.' build/gyre evaluate classify --model run/ --input dev.tsv
rejects 2 '--preset: expected one of .*, got glue-mrpc, which is for gyre train pair$' tune classify --preset glue-mrpc --train-sets train.tsv
rejects 2 '--preset: .*got glue-sst; did you mean glue-sst2\?' tune classify --preset glue-sst --train-sets train.tsv
rejects 2 "--labels. expected different names, got 'x' twice" tune classify --labels x x --text-column 0 --label-column 1 --train-sets train.tsv
rejects 2 '--labels. expected names without tabs' tune classify --labels $'x\ty' x --text-column 0 --label-column 1 --train-sets train.tsv
rejects 2 '--labels is missing' tune classify --train-sets train.tsv
rejects 2 '--text-column: expected a number because there is no header line' tune classify --no-header --text-column text --labels 0 1 --train-sets train.tsv
rejects 2 '--dim-emb would have no effect: --pretrained-model defines the encoder' tune classify --preset glue-sst2 --dim-emb 8 --train-sets train.tsv
rejects 2 '--vocab. expected a vocabulary, or --pretrained-model with its own, got both' tune classify --preset glue-sst2 --vocab vocab.txt --train-sets train.tsv
rejects 2 '--valid-metrics. expected one of .*, got .pearson' tune classify --preset glue-sst2 --valid-metrics pearson --train-sets train.tsv --valid-sets dev.tsv
rejects 2 '--lr-warmup: expected a number, got .x' tune classify --preset glue-sst2 --lr-warmup x% --train-sets train.tsv
rejects 2 'metrics. classification: expected accuracy, f1, macro-f1 or matthews, got pearson' build/gyre evaluate classify --model sst2/ --input dev.tsv --metrics pearson

# A plan knows the outputs of a task and the updates of an epoch: 3 epochs of 3 updates.
for recipe in sst2:classify stsb:regress mnli:pair; do
  build/gyre plan "${recipe#*:}" --config tools/recipes/glue.toml --preset "glue-${recipe%:*}" --pretrained-model run/ --max-length 16 --epoch-items 70 \
    --ranks 1 --gflops 10 --memory-gb 5 --json > plan.json
  check "the plan of ${recipe%:*}" grep -q '"run":{"updates":9,' plan.json
done

for recipe in mrpc:pair sst2:classify stsb:regress qnli:pair qqp:pair mnli:pair; do
  rejects 1 'missing.tsv' tune "${recipe#*:}" --config tools/recipes/glue.toml --preset "glue-${recipe%:*}" --train-sets missing.tsv
done
[ ! -e bad/checkpoints/last ] || fail "a wrong call trained"
