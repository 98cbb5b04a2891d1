#!/usr/bin/env bash
# Ranks exchange gradients by messages if /dev/shm has no room for their shared memory, or just too little for what the
# MPI library adds to it. A small tmpfs takes the place of /dev/shm.
. "$(dirname "$0")/lib.sh"
# The shell variables are those of the inner shell.
# shellcheck disable=SC2016
with_shm() { unshare --mount bash -c 'mount -t tmpfs -o size="$1" tmpfs /dev/shm && shift && exec "$@"' with_shm "$@"; }
with_shm 1m true 2> mount.log || skip_test "another /dev/shm requires root ($(head -n 1 mount.log))"

for size in 4m 8300k 8500k 9m 32m; do
  with_shm "$size" timeout 300 "$ROOT/tools/scripts/mpirun.sh" -n 2 $(rank_of "run-$size" $options) > job.log 2>&1 ||
    { cat job.log >&2; fail "/dev/shm of $size"; }
  check "the same bits with /dev/shm of $size" \
    cmp straight/checkpoints/last/model.safetensors "run-$size/checkpoints/last/model.safetensors"
done
message='exchange gradients by messages, not in shared memory: /dev/shm has no room'
check "the log of the smallest says so" grep -q "$message" run-4m/train.log
check "the log of the largest does not" eval "! grep -q '$message' run-32m/train.log"
