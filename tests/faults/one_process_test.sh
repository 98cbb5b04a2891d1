#!/usr/bin/env bash
# Faults in a single process: signals before a validation, SIGKILL while the best checkpoint is saved, a best checkpoint
# that cannot be written, errors in an update. Running the same command again gives the result of a run without faults.
. "$(dirname "$0")/../mpi/lib.sh"
validation="--valid-sets val.en val.de --valid-metrics cross-entropy --valid-freq 5u"
# The loss first falls, then the learning rate gets too high: the best validation is in the middle of the run.
options="--after 30u --save-freq 4u --keep-last 1 --ema 0.5 --learn-rate 1 --lr-warmup 40 --early-stopping 2 --disp-freq 3u --quiet $validation"

train() { # train RUN OPTION...
  $(rank_of "$@") > job.log 2>&1
}
# run_with_fault STATUS "RANK UPDATE POINT ACTION" RUN OPTION...: the run with that fault ends with the exit status
run_with_fault() {
  local wanted=$1 plan=$2 status=0
  shift 2
  rm -rf "$1"
  (export GYRE_FAULT=$plan && train "$@") 2> shell.log || status=$?
  [ "$status" -eq "$wanted" ] || { cat job.log >&2; fail "$plan: status $status instead of $wanted"; }
}
resumes() { # resumes WHAT RUN STRAIGHT OPTION...
  local what=$1 run=$2 straight=$3
  shift 3
  train "$run" "$@" || { cat job.log >&2; fail "$what: cannot be resumed"; }
  same_run "$what" "$run" "$straight"
}
best_of() { readlink "$1/checkpoints/best"; }

train straight $options
best=$(best_of straight)
echo "best: $best, ended: $(tail -n 1 straight/metrics.jsonl | grep -o '"updates":[0-9]*,"reason":"[^"]*"')"
best_update=$((10#${best#step-}))
tail -n 1 straight/metrics.jsonl | grep -q '"reason":"early stopping"' || fail "expected early stopping of the straight run"

# The signal is handled in the next update: updates 5 and 15 have a validation, update 7 has none.
for update in 4 6 14; do
  run_with_fault 0 "0 $update optimizer term" "term$update" $options
  tail -n 1 "term$update/metrics.jsonl" | grep -q '"reason":"stopped by a signal' || fail "signal at $update: not logged"
  resumes "a signal in update $update" "term$update" straight $options
done
# A signal before the first update.
run_with_fault 0 "0 0 start term" early $options
grep -q "received SIGTERM: the run saves and ends after update 1" early/train.log || fail "a signal while data are read: not logged"
tail -n 1 early/metrics.jsonl | grep -q '"updates":1,"reason":"stopped by a signal' || fail "a signal while data are read: ignored"
resumes "a signal while the data are read" early straight $options
train short --after 8u --ema 0.5 $validation
run_with_fault 0 "0 7 optimizer term" last --after 8u --ema 0.5 $validation
tail -n 1 last/metrics.jsonl | grep -q '"reason":"stopped by a signal' || fail "a validation is still due: expected a run stopped by the signal"
resumes "a signal before the last update" last short --after 8u --ema 0.5 $validation

for point in checkpoint written renamed last best; do
  run_with_fault 137 "0 $best_update $point kill" "kill_$point" $options
  resumes "SIGKILL at $point of the best checkpoint" "kill_$point" straight $options
done

# If the best checkpoint cannot be written, the next best one that is written becomes best.
run_with_fault 0 "0 $best_update written throw" unwritten $options
grep -q "the checkpoint could not be written" job.log || fail "a failed checkpoint is not logged"
[ ! -e "unwritten/checkpoints/$best" ] || fail "expected no $best"
[ -e unwritten/checkpoints/best/model.safetensors ] || fail "a failed write left no best checkpoint"
same "a failed write: the best checkpoint in state.json" "step-$(printf %08d "$(state_of unwritten | grep -A 4 '"best_checkpoint"' | grep -oE '"updates": [0-9]+' | grep -oE '[0-9]+')")" "$(best_of unwritten)"
echo "ok: $best could not be written, best is $(best_of unwritten)"

# prune keeps the best checkpoint even without its link.
rm kill_last/checkpoints/best
"$GYRE" checkpoint prune --model kill_last --keep-last 1 > prune.log
same "prune keeps the best checkpoint" "$(best_of kill_last) $(ls kill_last/checkpoints/"$best" | wc -l)" "$best 3"

for point in data forward backward; do
  run_with_fault 1 "0 7 $point throw" "throw_$point" $options
  grep -qE "gyre: $point of update 7: \[GYRE_FAULT\]" job.log || { cat job.log >&2; fail "$point: the phase is not named"; }
  [ -d "throw_$point/checkpoints/step-00000006" ] || fail "an error in $point: the state before the update was not saved"
  resumes "an error in $point" "throw_$point" straight $options
done
# From the optimizer step on, weights may have changed: nothing is saved.
run_with_fault 1 "0 7 optimizer throw" throw_optimizer $options
[ ! -e throw_optimizer/checkpoints/step-00000006 ] || fail "an error in the optimizer: a checkpoint was saved"
resumes "an error in the optimizer" throw_optimizer straight $options
