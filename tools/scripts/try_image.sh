#!/usr/bin/env bash
# Runs the demo and a training of two ranks in an image of tools/scripts/image.sh, as its unprivileged user and without a
# container engine, in a chroot with namespaces of its own. Needs root rights.
#   tools/scripts/try_image.sh IMAGE.tar.gz
set -euo pipefail
[ $# -eq 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tar -xzf "$1" -O layer.tar | tar -C "$work" -x

cat > "$work/try.sh" << 'INSIDE'
set -euo pipefail
! command -v cc c++ gcc make > /dev/null || { echo "try_image: expected no compiler" >&2; exit 1; }
cd /work
scripts=/usr/share/gyre/scripts
$scripts/demo.sh
echo "My sister bought thirty-four red apples at twenty to nine." | gyre translate --model demo/run
$scripts/mpirun.sh -n 2 gyre train nmt --config demo/run/train.toml --model ranks --after 60u
gyre checkpoint info --model ranks | head -n 4
INSIDE
# shellcheck disable=SC2016
unshare --mount --pid --ipc --uts --fork bash -c '
  mount -t proc proc "$1/proc"
  mount -t sysfs -o ro sysfs "$1/sys"
  mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
  mkdir -p "$1/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
  exec chroot --userspec=gyre:gyre "$1" env -i HOME=/home/gyre PATH=/usr/local/bin:/usr/bin:/bin bash /try.sh' bash "$work"
echo "the demo and a training of two ranks run in $1"
