#!/usr/bin/env bash
# Makes a Python wheel of a built program and the libraries it needs: `pip install` puts gyre on the PATH, for every
# Python 3 on a Linux of this architecture whose glibc is not older than this machine's. It has no Python code.
#   tools/scripts/wheel.sh [BUILD] [DIRECTORY]
set -euo pipefail
case ${1:-} in
  -*) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
esac
build=${1:-build}
mkdir -p "${2:-dist}"
out=$(cd "${2:-dist}" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$("$build/gyre" --version | awk '{ print $2 }')
glibc=$(getconf GNU_LIBC_VERSION | awk '{ print $2 }')
tag=py3-none-manylinux_${glibc/./_}_$(uname -m)
name=gyre-$version
wheel=$work/wheel
prefix=$wheel/$name.data/data/lib # pip copies data/ to the prefix of the environment, and scripts/ to its bin
info=$wheel/$name.dist-info
mkdir -p "$prefix" "$wheel/$name.data/scripts" "$info"

"$scripts/bundle.sh" "$build" "$work/gyre.tar.gz" > "$work/bundle.log"
tar -C "$prefix" -xf "$work/gyre.tar.gz"
mv "$prefix/gyre/licenses" "$info/licenses"
cat > "$wheel/$name.data/scripts/gyre" << 'SCRIPT'
#!/bin/sh
exec "$(dirname "$(dirname "$(readlink -f "$0")")")/lib/gyre/bin/gyre" "$@"
SCRIPT
chmod +x "$wheel/$name.data/scripts/gyre"
cat > "$info/METADATA" << METADATA
Metadata-Version: 2.1
Name: gyre
Version: $version
Summary: Trains transformers from scratch: a tensor and autodiff engine in C++
License: $(sed -n 1p "$scripts/../../LICENSE")
Platform: linux
Description-Content-Type: text/plain

The program gyre with the libraries that it needs, as one process; for several ranks install the Debian package.
METADATA
printf 'Wheel-Version: 1.0\nGenerator: tools/scripts/wheel.sh\nRoot-Is-Purelib: false\nTag: %s\n' "$tag" > "$info/WHEEL"

cd "$wheel"
find . -type f -printf '%P\n' | sort > "$work/files"
while read -r file; do
  digest=$(sha256sum "$file" | cut -c 1-64 | tr a-f A-F | basenc -d --base16 | basenc --base64url | tr -d =)
  echo "$file,sha256=$digest,$(stat -c %s "$file")"
done < "$work/files" > "$info/RECORD"
echo "$name.dist-info/RECORD,," >> "$info/RECORD"
rm -f "$out/$name-$tag.whl"
zip -q -X "$out/$name-$tag.whl" -@ < <(cat "$work/files"; echo "$name.dist-info/RECORD")
echo "$out/$name-$tag.whl: $(du -m "$out/$name-$tag.whl" | cut -f 1) MiB"
