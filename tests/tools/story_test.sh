#!/usr/bin/env bash
# Tests the experiments on stories with models that train in a moment: three arms, their samples, resuming, and the sweep
# of optimizers.
. "$(dirname "$0")/lib.sh"
from_corpus train.en
as_documents train.en > text.txt
small="--layers 1 --dim-emb 32 --transformer-dim-ffn 64 --transformer-heads 2 --quiet"
run() { # run [VARIABLE=VALUE]...
  env PIECES=300 "$@" "$ROOT/tools/experiments/story.sh" text.txt out $small > log.txt 2>&1 || { cat log.txt >&2; fail "story.sh"; }
}

run UPDATES=48
for arm in llama muon gpt2; do
  same "a sample after each part of $arm" "$(grep -c "^--- $arm after [0-9]* of 48 updates:$" log.txt)" 6
  check "the end of $arm" grep -qE "^$arm: loss [0-9.]+ after 48 updates" log.txt
  same "the validations of $arm" "$(grep -c "^$arm	" out/losses.tsv)" 24
done
check "samples continue the prompt" grep -q '^It was.' log.txt
check "the picture" test -s out/curves.png
check "the position encoding of GPT-2" grep -q '"encoding": "learned"' out/gpt2/config.json

cp out/llama/checkpoints/last/model.safetensors before.safetensors
ARMS=llama run UPDATES=48
check "existing results are kept" cmp before.safetensors out/llama/checkpoints/last/model.safetensors

# Without UPDATES, the speed of an arm decides how many fit into the time, and is measured once.
rm -rf out/muon
ARMS=muon run MINUTES=0.1
fit=$(cat out/muon.updates)
check "updates that fit into the time" grep -q "^--- muon after $fit of $fit updates:$" log.txt
rm -rf out/muon
echo 12 > out/muon.updates
ARMS=muon run MINUTES=60
check "a measured number of updates is kept" grep -q "^--- muon after 12 of 12 updates:$" log.txt
rejects 2 'the script resumes' "$ROOT/tools/experiments/story.sh"
# A trial that fails or is interrupted leaves no number of updates behind.
rm -rf out/muon out/muon.updates
rejects 2 'max-skippd' env ARMS=muon MINUTES=60 "$ROOT/tools/experiments/story.sh" text.txt out $small --max-skippd 3
check "no speed of a trial that failed" test ! -e out/muon.updates
rejects 1 'a signal ended the training of out/speed' env GYRE_FAULT="0 30 forward term" ARMS=muon MINUTES=60 \
  "$ROOT/tools/experiments/story.sh" text.txt out $small
check "no speed of a trial that was interrupted" test ! -e out/muon.updates

# Every experiment notices that a signal ended one of its trainings, which is a success for gyre train.
scripts=$(grep -lE '"\$gyre" train|\{launch(er)?\[@\]\}" train' "$ROOT"/tools/experiments/*.sh "$ROOT"/tools/scripts/multi30k.sh)
check "the scripts that train are found" test "$(wc -l <<< "$scripts")" -ge 14
for script in $scripts; do
  check "$(basename "$script") notices a signal" grep -q '^ *check_ended "' "$script"
done

# AdamW at two rates and a decay with seed 1, Muon at one rate, and the best of both with seed 2.
sweep() {
  UPDATES=24 RATES="1e-3 8e-3" DECAYS=0.1 MUON_RATES=8e-3 "$ROOT/tools/experiments/optimizer_sweep.sh" out swept $small
}
sweep > table.txt
same "the runs of the sweep" "$(cut -f 1-5 swept/sweep.tsv | tr '\t' ' ' | paste -sd,)" \
  "adamw 1e-3 0.1 1 24,adamw 8e-3 0.1 1 24,muon 8e-3 0.1 1 18,adamw 8e-3 0.1 2 24,muon 8e-3 0.1 2 18"
check "the comparison of a seed" grep -qE '^seed 2: muon [0-9.]+ after 18 updates, adamw [0-9.]+ after 24$' table.txt
touch before
check "the sweep is the same again" cmp table.txt <(sweep)
same "no run is repeated" "$(find swept/runs -newer before -name metrics.jsonl | wc -l)" 0
rejects 2 'the script resumes' "$ROOT/tools/experiments/optimizer_sweep.sh" out
