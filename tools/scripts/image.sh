#!/usr/bin/env bash
# Makes a container image from Debian's packages and the package gyre, without a registry or a container engine. The
# archive is what `podman load`, `docker load` and `apptainer build gyre.sif docker-archive:FILE` read.
#   tools/scripts/image.sh GYRE.deb OUT.tar.gz
set -euo pipefail
[ $# -eq 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
deb=$(readlink -f "$1") out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # mmdebstrap reads the package as another user
version=$(dpkg-deb -f "$deb" Version)
architecture=$(dpkg-deb -f "$deb" Architecture)
cp "$deb" "$work/gyre.deb"

# As tools/cluster/Containerfile installs it.
# shellcheck disable=SC2016
mmdebstrap --quiet --variant=minbase \
  --customize-hook="copy-in '$work/gyre.deb' /tmp" \
  --customize-hook='chroot "$1" apt-get install --no-install-recommends -y -qq /tmp/gyre.deb gnuplot-nox openmpi-bin > /dev/null' \
  --customize-hook='chroot "$1" useradd --create-home gyre' \
  --customize-hook='chroot "$1" install -d -o gyre -g gyre /work' \
  --customize-hook='rm -rf "$1"/tmp/gyre.deb "$1"/var/lib/apt/lists/* "$1"/usr/share/man/?? "$1"/etc/apt/sources.list.d/*' \
  --customize-hook='echo "deb http://deb.debian.org/debian bookworm main" > "$1/etc/apt/sources.list"' \
  bookworm "$work/layer.tar"

layer=$(sha256sum "$work/layer.tar" | cut -d ' ' -f 1)
cat > "$work/config.json" << CONFIG
{"architecture": "$architecture", "os": "linux",
 "config": {"User": "gyre", "WorkingDir": "/work", "Entrypoint": ["gyre"], "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}, "history": [{"created_by": "tools/scripts/image.sh"}]}
CONFIG
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"gyre:$version\"], \"Layers\": [\"layer.tar\"]}]" > "$work/manifest.json"
mkdir -p "$(dirname "$out")"
tar -C "$work" --owner=0 --group=0 -czf "$work/image" manifest.json config.json layer.tar
mv "$work/image" "$out"
echo "$out: $(du -m "$out" | cut -f 1) MiB, loads as gyre:$version"
