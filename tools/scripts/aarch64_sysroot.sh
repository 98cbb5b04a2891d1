#!/usr/bin/env bash
# Usage: aarch64_sysroot.sh [FOLDER]
# Prepares a build for 64-bit ARM on a Debian machine of another architecture: installs the cross compiler and QEMU, and
# unpacks the libraries of Gyre for ARM into FOLDER (default: build-aarch64/sysroot). The packages are unpacked, not
# installed, because some (Open MPI) cannot be installed for two architectures at once. Prints nothing if all is there.
set -euo pipefail
root=$(realpath -m "${1:-$(dirname "$0")/../../build-aarch64/sysroot}")
scripts=$(realpath "$(dirname "$0")")
packages=(
  libc6-dev libstdc++-12-dev libgomp1
  libopenblas-openmp-dev libsentencepiece-dev libicu-dev libspdlog-dev libcli11-dev doctest-dev nlohmann-json3-dev
  zlib1g-dev libzstd-dev liblzma-dev
)
triple=aarch64-linux-gnu

"$scripts/setup.sh" "g++-$triple" binutils-$triple qemu-user cmake

wanted="${packages[*]}"
[ "$(cat "$root/packages.txt" 2> /dev/null)" = "$wanted" ] && exit 0
rm -rf "$root"
mkdir -p "$root/apt/state/lists/partial" "$root/apt/cache/archives/partial"
: > "$root/apt/status" # no package is installed, so apt selects all dependencies

# apt with the sources of this machine, but for the other architecture and with its own state.
apt_arm() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
    -o Dir::State="$root/apt/state" -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt/cache" "$@"
}
unpack() {
  apt_arm update
  apt_arm install --no-install-recommends --download-only -y "${packages[@]}"
  for package in "$root"/apt/cache/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
}
"$scripts/quiet.sh" "unpacking ARM libraries" "$root/../packages.log" bash -c "$(declare -f apt_arm unpack)
  $(declare -p root packages); set -e; unpack"
rm -rf "$root/apt"
# Absolute links would lead to files of this machine.
find "$root" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfnr "$root$target" "$link"
done
echo "$wanted" > "$root/packages.txt"
