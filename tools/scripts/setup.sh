#!/usr/bin/env bash
# Installs the Debian packages that Gyre is built from, the one list of them, and those named on the command line. Silent when all are there. Without the right to
# install it prints the command and stops with status 1.
set -euo pipefail

packages=(
  pkg-config
  libopenblas-openmp-dev # the OpenMP build: it shares its threads with Gyre's own kernels
  libopenmpi-dev openmpi-bin
  libcli11-dev libspdlog-dev doctest-dev nlohmann-json3-dev
  libsentencepiece-dev libicu-dev
  gnuplot-nox graphviz
  "$@"
)

if ! command -v dpkg-query > /dev/null; then
  echo "setup: this is not Debian; the build needs what these packages hold: ${packages[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2> /dev/null |
  awk '$2 == "installed" { print $1 }' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package" <<< "$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2> /dev/null; then
    echo "setup: these packages are missing and installing them needs root. Run:" >&2
    echo "  sudo apt-get update && sudo apt-get install --no-install-recommends -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -qq "${missing[@]}"
