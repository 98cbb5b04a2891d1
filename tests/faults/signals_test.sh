#!/usr/bin/env bash
# SIGKILL, SIGSTOP and SIGTERM of a rank in every phase: no progress is lost, no rank hangs, no process is left.
. "$(dirname "$0")/lib.sh"

for point in data forward backward reduction optimizer; do
  fault "SIGKILL of rank 1 in $point" "not 0" "process rank 1 .* signal 9" 20 "1 7 $point kill"
  grep -qE "termination signal while rank 0 waits for others, in .* of update [78]" job.log || { cat job.log >&2; fail "the log does not name the update"; }
  fault "SIGSTOP of rank 1 in $point" "not 0" "\[--watchdog-timeout\] .* update [78] .*rank 1 does not answer" 30 "1 7 $point stop" \
    --watchdog-timeout 2
  fault "SIGTERM of rank 1 in $point" 0 "" 20 "1 7 $point term"
done
fault "SIGKILL of rank 0 in backward" "not 0" "process rank 0 .* signal 9" 20 "0 7 backward kill"
fault "SIGSTOP of rank 0 in backward" "not 0" "rank 0 does not answer" 30 "0 7 backward stop" --watchdog-timeout 2
# While the checkpoint of update 8 is written: before and after it is renamed to its final name.
for point in checkpoint written renamed; do
  fault "SIGKILL of rank 0 in $point" "not 0" "process rank 0 .* signal 9" 20 "0 8 $point kill"
  fault "SIGTERM of rank 0 in $point" 0 "" 20 "0 8 $point term"
  fault "SIGSTOP of rank 0 in $point" "not 0" "rank 0 does not answer" 30 "0 8 $point stop" --watchdog-timeout 2
done
