#!/usr/bin/env bash
# Makes the files of a release in dist/: Debian packages, a portable bundle, a wheel, a container image, the demo's
# trained model, and their digests. Tries the bundle in an empty environment, and the image where it has root rights.
# `make release` builds the program before.
#   tools/scripts/release.sh [BUILD] [DIRECTORY]
set -euo pipefail
case ${1:-} in
  -*) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
esac
build=${1:-build} out=${2:-dist}
scripts=$(dirname "$0")
version=$("$build/gyre" --version | awk '{ print $2 }')
grep -q "^## \[*$version" "$scripts/../../CHANGELOG.md" || { echo "release: CHANGELOG.md has no section $version" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$out"

(cd "$build" && cpack -G DEB > cpack.log)
cp "$build"/*gyre*_"$version"_*.deb "$out/"
"$scripts/bundle.sh" "$build" "$out/gyre-$version-linux-$(uname -m).tar.xz"
"$scripts/wheel.sh" "$build" "$out"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$scripts/demo.sh" "$build/gyre" "$work/demo"
"$build/gyre" checkpoint prune --model "$work/demo/run" --keep-last 1
mv "$work/demo/run" "$work/gyre-demo-model"
tar -C "$work" --owner=0 --group=0 -czf "$out/gyre-demo-model.tar.gz" gyre-demo-model
tar -C "$work" -xf "$out"/gyre-*-linux-*.tar.xz
echo "The shirt costs nine euros." | env -i "$work"/gyre-*-linux-*/bin/gyre translate --model "$work/gyre-demo-model"

if [ "$(id -u)" -eq 0 ]; then
  "$scripts/image.sh" "$out"/gyre_"$version"_*.deb "$out/gyre-$version-image.tar.gz"
  "$scripts/try_image.sh" "$out/gyre-$version-image.tar.gz"
else
  echo "skipped: the container image: making and trying it needs root rights" >&2
fi
(cd "$out" && sha256sum -- * > SHA256SUMS)
cat "$out/SHA256SUMS"
