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

# A full disk during an import or an export leaves the model that is there.
bert=$ROOT/tests/train/golden/hugging_face/bert
"$GYRE" import --from hf "$bert" --output disk/imported 2> import.log
"$GYRE" export --to hf --model disk/imported --output disk/exported 2> export.log
rm -r disk/run
state_of() { (cd "$1" && find . -type f ! -name .lock -exec sha256sum {} + | sort); }
for made in imported exported; do state_of "disk/$made" > "$made.txt"; done
head -c 4m /dev/zero > disk/ballast 2> full.log || true
rejects 1 'No space left on device' "$GYRE" import --from hf "$bert" --output disk/imported --overwrite
rejects 1 'No space left on device' "$GYRE" export --to hf --model disk/imported --output disk/exported --overwrite
rejects 1 'No space left on device' "$GYRE" export --to hf --model disk/imported --output disk/new
for made in imported exported; do check "$made: the model is as before" cmp "$made.txt" <(state_of "disk/$made"); done
check "nothing is left of a failed export" test ! -e disk/new
rm disk/ballast
"$GYRE" import --from hf "$bert" --output disk/imported --overwrite 2> import.log
"$GYRE" export --to hf --model disk/imported --output disk/exported --overwrite 2> export.log
check "and the next export succeeds" cmp exported.txt <(state_of disk/exported)
