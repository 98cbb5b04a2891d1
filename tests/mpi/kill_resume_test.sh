#!/usr/bin/env bash
# A run that is killed (SIGKILL to every process) at random times and restarted ends with the same bits.
. "$(dirname "$0")/lib.sh"
options="--after 120u --save-freq 2u --keep-last 2 --ema 0.9 --valid-sets val.en val.de --valid-metrics cross-entropy
  --valid-freq 5u"

mpirun -n 2 $(rank_of straight $options --quiet)
for kill in 1 2 3 4 5; do
  start_two killed $options
  wait_for_update killed $((kill * 15))
  sleep "0.0$((RANDOM % 90 + 10))"
  kill -9 "$launcher" $ranks 2> kill.log || true
  wait "$job" 2>> kill.log || true
done
updates=$(grep '"event":"resume"' killed/metrics.jsonl | tail -n 1)
echo "the job after the last kill began with $updates"
mpirun -n 2 $(rank_of killed $options --quiet)
tail -n 1 killed/metrics.jsonl | grep -q '"event":"end","updates":120' || fail "the run did not end"
same_run "killed five times" killed straight
