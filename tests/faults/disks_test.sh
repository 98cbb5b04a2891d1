#!/usr/bin/env bash
# Disk failures during training: a full disk and a read-only disk, both simulated with a small tmpfs.
. "$(dirname "$0")/lib.sh"
mkdir disk
mount -t tmpfs -o size=2m tmpfs disk 2> mount.log || skip_test "mounting a file system requires root ($(head -n 1 mount.log))"
trap 'umount -l "$work/disk"; rm -rf "$work"' EXIT

# disk WHAT BREAK REPAIR: BREAK makes the disk fail after update 5 of a job; REPAIR runs after the job has ended.
disk() {
  local status=0
  rm -rf disk/run
  slow disk/run $options > job.log 2>&1 &
  job=$!
  wait_for_update disk/run 5
  eval "$2"
  wait "$job" || status=$?
  [ "$status" -ne 0 ] || { cat job.log >&2; fail "$1: the job succeeded"; }
  grep -q "checkpoint could not be written" job.log || { cat job.log >&2; fail "$1: not logged"; }
  eval "$3"
  recovers "$1" disk/run
  outcome "$1: $(grep -oE 'the checkpoint could not be written.*' job.log | head -n 1)"
}
disk "a full disk" "head -c 4m /dev/zero > disk/ballast 2> full.log || true" "rm disk/ballast"
disk "a read-only disk" "mount --bind disk/run/checkpoints disk/run/checkpoints && mount -o remount,ro,bind disk/run/checkpoints" \
  "umount disk/run/checkpoints"
