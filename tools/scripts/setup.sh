#!/usr/bin/env bash
# Installs the Debian packages that the build of Gyre needs, and those named on the command line. Prints nothing if all
# are installed. Without root rights it prints the command and exits with status 1.
set -euo pipefail

packages=(
  pkg-config
  libopenblas-openmp-dev # the OpenMP variant shares its threads with Gyre's kernels
  libopenmpi-dev openmpi-bin
  libcli11-dev libspdlog-dev doctest-dev nlohmann-json3-dev
  libsentencepiece-dev libicu-dev
  zlib1g-dev libzstd-dev liblzma-dev
  gnuplot-nox graphviz
  "$@"
)

# In Debian 13 the pkg-config file of SentencePiece names this package, on which that of SentencePiece does not depend.
if grep -qx 'VERSION_ID="13"' /etc/os-release 2> /dev/null; then packages+=(libprotobuf-dev); fi

if ! command -v dpkg-query > /dev/null; then
  echo "setup: expected a Debian system; the build needs the contents of these packages: ${packages[*]}" >&2
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
    echo "setup: packages are missing, and their installation needs root rights. Run:" >&2
    echo "  sudo apt-get update && sudo apt-get install --no-install-recommends -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

"$(dirname "$0")/quiet.sh" "installing ${#missing[@]} packages" build/packages.log "${as_root[@]}" sh -c \
  'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -qq "$@"' sh "${missing[@]}"
