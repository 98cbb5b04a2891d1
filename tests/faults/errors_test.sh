#!/usr/bin/env bash
# Errors on a single rank, gradients and weights that are not finite, and a slow rank.
. "$(dirname "$0")/lib.sh"

for point in data forward backward; do
  fault "an error of rank 1 in $point" "not 0" "gyre: \[rank 1 of 2\] $point of update 7: \[GYRE_FAULT\]" 20 "1 7 $point throw"
done
fault "no memory on rank 1 in forward" "not 0" "gyre: \[rank 1 of 2\] forward of update 7: out of memory" 20 "1 7 forward memory"
fault "an error of rank 1 with sharded gradients" "not 0" "gyre: \[rank 1 of 2\] backward of update 7: \[GYRE_FAULT\]" 20 "1 7 backward throw" --zero 2
same "the state before the failed update was saved" "$(ls broken/checkpoints | grep -c step-00000006)" 1

# A single NaN gradient is skipped. NaN weights end the run, and the error names the operation.
status=0
GYRE_FAULT="1 7 backward nan" train skipped || status=$?
same "one gradient that is not finite: status" "$status" 0
grep -q "update 7 was skipped" skipped/train.log || fail "no log line says that update 7 was skipped"
echo "outcome: NaN in a gradient of rank 1: update 7 was skipped, the run continued"
GYRE_FAULT="1 7 backward nan" train skipped-shards --zero 2
same_run "an update is skipped with sharded gradients" skipped skipped-shards
fault "NaN in a weight of rank 1" "not 0" "in 3 updates in a row, up to update 7 .*on rank 1: forward: [a-z_]+ in " 20 "1 5 forward nan" --max-skipped 2
fault "a slow rank" 0 "" 60 "1 11 backward slow" --watchdog-timeout 2
