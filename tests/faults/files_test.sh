#!/usr/bin/env bash
# Damaged checkpoints, training data truncated during a run, two jobs in one run directory.
. "$(dirname "$0")/lib.sh"

flip() { # flip FILE: flips one bit in the middle of the file
  local at byte
  at=$(($(stat -c %s "$1") / 2))
  byte=$(od -An -tu1 -j "$at" -N 1 "$1")
  printf "\\x$(printf %x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
cut_short() { truncate -s $(($(stat -c %s "$1") - 7)) "$1"; }

train whole --after 8u
for damage in flip cut_short rm; do
  for file in model.safetensors optimizer.safetensors state.json; do
    rm -rf damaged
    cp -r whole damaged
    "$damage" "damaged/checkpoints/step-00000008/$file"
    train damaged > job.log 2>&1 || { cat job.log >&2; fail "$damage $file"; }
    grep -q "skipped a broken checkpoint: step-00000008: .*$file" job.log || { cat job.log >&2; fail "$damage $file: not logged"; }
    same_run "$damage $file" damaged straight
  done
  outcome "a checkpoint file after $damage: the previous checkpoint was used and the reason logged"
done

from_corpus train.tok
cp train.tok spare.tok
sets=train.tok
train tokens
slow cut $options > job.log 2>&1 &
job=$!
wait_for_update cut 5
truncate -s 4096 train.tok
status=0
wait "$job" || status=$?
[ "$status" -ne 0 ] || fail "the token store was truncated and the job succeeded"
grep -qE "train.tok: was truncated while (in use|being read)" job.log || { cat job.log >&2; fail "the token store is not named"; }
cp spare.tok train.tok
train cut
same_run "a truncated token store" cut tokens
outcome "a token store was truncated during training: $(grep -oE '\[file\].*' job.log | head -n 1)"

sets="train.en train.de"
slow busy $options > job.log 2>&1 &
job=$!
wait_for_update busy 2
rejects 1 '\[lock\] busy: another job uses this run directory: process [0-9]+ on ' mpirun -n 2 $(rank_of busy $options)
check "the first job is not disturbed" wait "$job"
outcome "two jobs in one directory: the second ended at once, the first continued"
