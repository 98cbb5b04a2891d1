#!/usr/bin/env bash
# When one rank fails, all ranks end, non-zero, and the first error is the last line shown.
. "$(dirname "$0")/lib.sh"

gone() { # gone PID...: none of the processes is left, a moment after
  local pid
  for pid in "$@"; do
    for _ in $(seq 250); do [ ! -d "/proc/$pid" ] || sleep 0.02; done
    [ ! -d "/proc/$pid" ] || return 1
  done
}

rejects 1 'gyre: \[rank 1 of 2\] .*missing.model' \
  mpirun -n 1 $(rank_of run --after 1Ku) : -n 1 $(rank_of run --after 1Ku --vocab missing.model)
rejects 1 'gyre: \[rank 0 of 2\] .*missing.de' mpirun -n 2 $(rank_of run --after 9u --valid-sets train.en missing.de)
same "ranks that fail alike are heard once" "$(grep -c 'gyre:' stderr.txt)" 1
rejects 1 '\[rank 0 of 3\] \[--shards\] expected at least one shard for each of 3 ranks, got 2' \
  mpirun -n 3 $(rank_of run --after 9u --shards 2)

start_two run --after 1Mu --overwrite
wait_for_update run 3
kill -9 "$(echo "$ranks" | tail -n 1)"
status=0
wait "$job" || status=$?
[ "$status" -ne 0 ] || fail "one rank was killed and the job ended well"
echo "ok: one rank was killed, the job's status is $status"
check "no rank is left" gone $ranks
check "the last line names the dead rank" grep -qE 'process rank 1 .* exited on signal 9' <(tail -n 1 job.log)

# mpirun hands SIGUSR1 on: the run saves and ends well.
start_two signal --after 1Mu
wait_for_update signal 3
kill -USR1 "$job"
check "a signal ends a run well" wait "$job"
updates=$(tail -n 1 signal/metrics.jsonl | sed -E 's/.*"event":"end","updates":([0-9]+).*/\1/')
mpirun -n 2 $(rank_of signal --after $((updates + 4))u --quiet)
mpirun -n 2 $(rank_of straight --after $((updates + 4))u --quiet)
same_run "a run that a signal ended goes on" signal straight
