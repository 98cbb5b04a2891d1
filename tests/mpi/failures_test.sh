#!/usr/bin/env bash
# If a rank fails, all ranks end with a non-zero status, and the first error is the last line of the output.
. "$(dirname "$0")/lib.sh"

wait_until_gone() { # wait_until_gone PID...: waits until none of the processes is left; fails after a few seconds
  local pid
  for pid in "$@"; do
    for _ in $(seq 250); do [ ! -d "/proc/$pid" ] || sleep 0.02; done
    [ ! -d "/proc/$pid" ] || return 1
  done
}

rejects 1 'gyre: \[rank 1 of 2\] .*missing.model' \
  mpirun -n 1 $(rank_of run --after 1Ku) : -n 1 $(rank_of run --after 1Ku --vocab missing.model)
rejects 1 'gyre: \[rank 0 of 2\] .*missing.de' mpirun -n 2 $(rank_of run --after 9u --valid-sets train.en missing.de)
same "if all ranks fail alike, the error is printed once" "$(grep -c 'gyre:' stderr.txt)" 1
rejects 1 '\[rank 0 of 3\] \[--micro-batches\] expected at least one micro-batch for each of 3 ranks, got 2' \
  mpirun -n 3 $(rank_of run --after 9u --micro-batches 2)

# --overwrite deletes a run only when all ranks can start.
mpirun -n 2 $(rank_of kept --after 2u --quiet)
rejects 1 'gyre: \[rank 1 of 2\] .*missing.de' \
  mpirun -n 1 $(rank_of kept --after 3u --overwrite) : -n 1 $(rank_of kept --after 3u --overwrite --valid-sets val.en missing.de)
check "the run of before is there" [ -e kept/checkpoints/last/model.safetensors ]

start_two run --after 1Mu --overwrite
wait_for_update run 3
kill -9 "$(echo "$ranks" | tail -n 1)"
status=0
wait "$job" || status=$?
[ "$status" -ne 0 ] || fail "one rank was killed and the job succeeded"
echo "ok: one rank was killed, the exit status of the job is $status"
check "no rank is left" wait_until_gone $ranks
check "the last line names the dead rank" grep -qE 'process rank 1 .* exited on signal 9' <(tail -n 1 job.log)

# mpirun forwards SIGUSR1: the run saves a checkpoint and exits with status 0.
start_two signal --after 1Mu
wait_for_update signal 3
kill -USR1 "$job"
check "after a signal the run exits with status 0" wait "$job"
updates=$(tail -n 1 signal/metrics.jsonl | sed -E 's/.*"event":"end","updates":([0-9]+).*/\1/')
mpirun -n 2 $(rank_of signal --after $((updates + 4))u --quiet)
mpirun -n 2 $(rank_of straight --after $((updates + 4))u --quiet)
same_run "a run that a signal ended is resumed" signal straight
