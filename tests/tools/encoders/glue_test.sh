#!/usr/bin/env bash
# Tests tools/experiments/glue.sh on a few rows of each task, and rotated_encoder.sh.
. "$(dirname "$0")/../lib.sh"
glue=$ROOT/tools/experiments/glue.sh
small_books
small="--layers 1 --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --cpu-threads 1 --quiet"
# shellcheck disable=SC2086 # several options
"$GYRE" train mlm $small --train-sets books.tok --vocab vocab.txt --max-length 32 --mini-batch 4 --after 2u --model run

mkdir -p glue/SST-2 glue/MRPC glue/STS-B glue/QNLI glue/RTE glue/CoLA
rows() { # HEADER FORMAT [LABEL LABEL]: 12 rows with the first sentences of the training text and alternating labels
  printf '%b\n' "$1"
  head -n 12 train.en | awk -v format="$2" -v even="${3-0}" -v odd="${4-1}" '{ printf format "\n", $0, NR % 2 ? odd : even }'
}
for set in train dev; do
  rows 'sentence\tlabel' '%s\t%s' > "glue/SST-2/$set.tsv"
  rows 'sentence1\tsentence2\tscore' 'a b\t%s\t%s' > "glue/STS-B/$set.tsv"
  rows 'index\tquestion\tsentence\tlabel' '7\ta b?\t%s\t%s' entailment not_entailment > "glue/QNLI/$set.tsv"
  rows 'index\tsentence1\tsentence2\tlabel' '7\ta b.\t%s\t%s' entailment not_entailment > "glue/RTE/$set.tsv"
  head -n 12 train.en | awk '{ printf "x\t%d\t\t%s\n", NR % 2, $0 }' > "glue/CoLA/$set.tsv"
done
for set in train test; do
  head -n 12 train.en | awk '{ printf "%d\t1\t2\ta b\t%s\n", NR % 2, $0 }' > "glue/MRPC/msr_paraphrase_$set.txt"
done

rejects 2 'has torch and transformers' "$glue" run
export SEEDS=1 RATES="1e-3 1e-2"
run() { "$glue" run glue out --after 1e --cpu-threads 1 --precision fp32 > log.out 2> log.err || { cat log.err >&2; fail "${TASKS-all}"; }; }
ARMS=pretrained run
same "the runs" "$(cut -f 1-4 out/scores.tsv | tr '\t\n' ' ,')" \
  "sst2 pretrained 1e-3 1,sst2 pretrained 1e-2 1,mrpc pretrained 1e-3 1,mrpc pretrained 1e-2 1,stsb pretrained 1e-3 1,stsb pretrained 1e-2 1,qnli pretrained 1e-3 1,qnli pretrained 1e-2 1,"
same "runs without a score" "$(awk -F '\t' '$5 !~ /^-?[0-9]/' out/scores.tsv)" ""
cp out/scores.tsv first.tsv
TASKS="mrpc qnli" run
same "existing results" "$(grep 'mrpc.pretrained\|qnli.pretrained' out/scores.tsv)" "$(grep 'mrpc\|qnli' first.tsv)"
same "a row of the table per task and arm" \
  "$(sed -nE 's/^\| ([a-z]+) \| ([a-z]+) \| 1e-[23] \| [0-9.-]+ \| 0.0000 \| [0-9]+ \| [0-9]+ \|$/\1 \2/p' out/table.md | paste -sd,)" \
  "mrpc pretrained,mrpc scratch,qnli pretrained,qnli scratch"
TASKS="rte cola" ARMS=pretrained run
same "runs of other tasks" "$(cut -f 1-4 out/scores.tsv | tr '\t\n' ' ,')" "rte pretrained 1e-3 1,rte pretrained 1e-2 1,cola pretrained 1e-3 1,cola pretrained 1e-2 1,"
TASKS=wnli rejects 2 'TASKS: expected some of cola, sst2' "$glue" run glue out
ARMS=pretrain rejects 2 'ARMS: expected some of pretrained, scratch and transformers, got pretrain' "$glue" run glue out
ARMS=transformers rejects 2 'ARMS: transformers needs PEER' "$glue" run glue out

# A BERT whose table is replaced by rotations.
# shellcheck disable=SC2086 # several options
"$GYRE" train mlm $small --preset bert-mini --max-positions 32 --train-sets books.tok --vocab vocab.txt --max-length 32 --mini-batch 4 --after 2u --model bert
command -v gnuplot > /dev/null || skip_test rotated_encoder "gnuplot is not installed"
mkdir "a run"
mv bert "a run/bert"
rotated() {
  UPDATES=4 LONG=2 LENGTH=16 LENGTHS="9 32 48" TOKENS=500 "$ROOT/tools/experiments/rotated_encoder.sh" "a run/bert" books.txt rotated \
    --mini-batch-words 64 --valid-freq 2u --save-freq 2u --valid-samples 8 --quiet --cpu-threads 1 > rotated.log 2>&1
}
rotated || { cat rotated.log >&2; fail "rotated encoder"; }
check "the expected time is said" grep -qE '^expected time of the trainings: [0-9]+ minutes$' rotated.log
same "the rows of the table" "$(sed -nE 's/^\| ([a-z]+) \| [0-9]+\.[0-9]+ \| [0-9]+\.[0-9]+ \| ([0-9]+\.[0-9]+|n.a) \|$/\1 \2/p' rotated/table.md | sed 's/[0-9.]*$//' | paste -sd,)" \
  "rotated ,table n/a,random "
check "the table is left out" grep -q 'not read: encoder.embed_positions.weight' rotated/rotated/train.log
same "updates" "$(tail -qn 1 rotated/{rotated,table,random}/metrics.jsonl | grep -c '"event":"end","updates":4,')" 3
same "predicted tokens at each length" "$(grep -oE '"tokens":[0-9]+,"seconds"' rotated/*.json | cut -d: -f3 | grep -v '^0' | sort -u | wc -l)" 1
cp -rp rotated first
rotated || { cat rotated.log >&2; fail "rotated encoder again"; }
check "existing results are kept" cmp first/table.md rotated/table.md
check "nothing is scored again" test ! rotated/random.json -nt first/random.json
same "a second call says no time" "$(grep -c expected rotated.log)" 0
again() { "$ROOT/tools/experiments/rotated_encoder.sh" "a run/bert" books.txt rotated; }
ARMS=rotate rejects 2 'ARMS: expected some of rotated, table and random, got rotate' again
LENGTH=16 rejects 2 'rotated has results of other settings: PRETRAINED=a run/bert TEXT=books.txt UPDATES=4 LONG=2' again
rejects 2 'expected LENGTH instead of --max-length' "$ROOT/tools/experiments/rotated_encoder.sh" "a run/bert" books.txt other --max-length 9
LENGTH=33 rejects 2 'LENGTH: expected at most 32, the number of positions' "$ROOT/tools/experiments/rotated_encoder.sh" "a run/bert" books.txt other
rejects 1 'rotated/rotated: expected a model with a table of positions' "$ROOT/tools/experiments/rotated_encoder.sh" rotated/rotated books.txt other
rejects 1 'unknown option --updates' env LENGTH=16 "$ROOT/tools/experiments/rotated_encoder.sh" "a run/bert" books.txt other --updates 2
check "a call that failed leaves no settings" test ! -e other/settings
