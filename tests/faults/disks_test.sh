#!/usr/bin/env bash
# Disks that fail: full, and read-only. What fails is a small file system of memory.
. "$(dirname "$0")/lib.sh"
mkdir disk
mount -t tmpfs -o size=2m tmpfs disk 2> mount.log || skip_test "mounting a file system takes root's rights ($(head -n 1 mount.log))"
trap 'umount -l "$work/disk"; rm -rf "$work"' EXIT

disk() { # disk WHAT MAKE MEND: the disk fails after update 5 of a job, and is mended after its end
  local status=0
  rm -rf disk/run
  slow disk/run $options > job.log 2>&1 &
  job=$!
  wait_for_update disk/run 5
  eval "$2"
  wait "$job" || status=$?
  [ "$status" -ne 0 ] || { cat job.log >&2; fail "$1: the job ended well"; }
  grep -q "no checkpoint" job.log || { cat job.log >&2; fail "$1: not told"; }
  eval "$3"
  recovers "$1" disk/run
  outcome "$1: $(grep -oE 'no checkpoint.*' job.log | head -n 1)"
}
disk "a full disk" "head -c 4m /dev/zero > disk/ballast 2> full.log || true" "rm disk/ballast"
disk "a read-only disk" "mount --bind disk/run/checkpoints disk/run/checkpoints && mount -o remount,ro,bind disk/run/checkpoints" \
  "umount disk/run/checkpoints"
