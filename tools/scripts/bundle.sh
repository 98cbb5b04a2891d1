#!/usr/bin/env bash
# Packs a built program with its libraries for another Linux of the same architecture. The glibc there must not be older
# than on this machine. A CUDA build also requires the driver and CUDA 13 (the toolkit or PyTorch's wheels) there.
#   tools/scripts/bundle.sh [--tests] [BUILD] [OUT.tar.xz|OUT.tar.gz|OUT.tar.zst]
# --tests includes the tests of the CUDA backend and their golden files. Defaults: build-cuda, gyre-bundle.tar.xz.
# Unpacked, bin/gyre runs from any directory, and tools/scripts/gpu_check.sh uses it. mpirun is not included, so it is
# a single process.
set -euo pipefail
tests=no
if [ "${1:-}" = --tests ]; then
  tests=yes
  shift
fi
case ${1:-} in
  -*) sed -n '4,7s/^# *//p' "$0" >&2; exit 2 ;;
esac
build=${1:-build-cuda}
out=${2:-gyre-bundle.tar.xz}
case $out in
  *.tar.xz) compress='xz -T1 --lzma2=preset=6,dict=256MiB' ;; # programs contain the same CUDA code: it is stored once
  *.tar.gz) compress='gzip -9' ;;
  *.tar.zst) compress='zstd -19 -T0 -q' ;;
  *) echo "bundle: expected an output file *.tar.xz, *.tar.gz or *.tar.zst, got $out" >&2; exit 2 ;;
esac
[ -x "$build/gyre" ] || { echo "bundle: $build/gyre is missing; build it first ('make', 'make cuda')" >&2; exit 1; }

source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=$(basename "$out")
root=$work/${name%.tar.*}
mkdir -p "$root"/{bin,libexec,lib/openmpi,licenses}

programs=("$build/gyre")
if [ $tests = yes ]; then
  for program in "$build"/tests/test_{core,hopper,autograd,models,train,mpi}; do # those that gpu_check.sh runs
    [ -x "$program" ] && programs+=("$program")
  done
fi

# The plug-ins of Open MPI for a single machine. Plug-ins of network fabrics would add a dozen libraries.
plugins=()
mpi=$(ldd "$build/gyre" | awk '$1 ~ /^libmpi\.so/ { print $3 }')
folder=$(find -L "$(dirname "$(readlink -f "$mpi")")" -maxdepth 4 -name mca_btl_self.so -printf '%h\n' | head -n 1)
for plugin in "${folder:-/none}"/mca_*.so; do
  case $plugin in
    *_ofi.so | *_ucx.so | *_psm.so | *_psm2.so | *_openib.so | *_flux.so | *_monitoring.so | *_treematch.so) ;;
    *) [ -e "$plugin" ] && plugins+=("$plugin") ;;
  esac
done

# Not packed: libraries of glibc, which must match its loader, of the driver and of CUDA.
glibc='^(libc|libm|libdl|librt|libpthread|libresolv|libutil|libanl|libnss_.*)\.so'
nvidia='^(libcuda|libcublas|libcudart|libnccl|libnvidia|libnvrtc|libnvJitLink)'

libraries() { # libraries FILE...: prints name and path of all libraries that they load
  ldd "$@" 2> /dev/null | awk -v glibc="$glibc" -v nvidia="$nvidia" \
    '$2 == "=>" && $3 ~ /^\// && $1 !~ glibc && $1 !~ nvidia { print $1, $3 }' | sort -u
}

missing=$(ldd "${programs[@]}" | awk -v nvidia="$nvidia" '/not found/ && $1 !~ nvidia { print $1 }' | sort -u)
[ -z "$missing" ] || { echo "bundle: this machine lacks ${missing//$'\n'/, }" >&2; exit 1; }
while read -r library path; do
  cp -L "$path" "$root/lib/$library"
done < <(libraries "${programs[@]}" "${plugins[@]}")
[ ${#plugins[@]} -eq 0 ] || cp -L "${plugins[@]}" "$root/lib/openmpi/"
cp "${programs[@]}" "$root/libexec/"
find "$root/lib" "$root/libexec" -type f -exec strip --strip-unneeded {} +
if command -v patchelf > /dev/null; then
  # shellcheck disable=SC2016
  find "$root/libexec" -type f -exec patchelf --set-rpath '$ORIGIN/../lib' {} +
fi

# Include the licenses.
cp "$source/LICENSE" "$root/licenses/gyre"
if command -v dpkg-query > /dev/null; then
  libraries "${programs[@]}" "${plugins[@]}" | awk '{ print $2 }' | while read -r path; do
    for place in "$path" "$(readlink -f "$path")" "/usr$path"; do
      { dpkg-query -S "$place" 2> /dev/null || true; } | cut -d: -f1
    done
  done | sort -u | while read -r package; do
    cp -L "/usr/share/doc/$package/copyright" "$root/licenses/$package" 2> /dev/null || true
  done
fi

# Include the files that gpu_check.sh and the tests read.
(
  cd "$source"
  find tools/scripts tools/recipes tools/bench \( -name '*.sh' -o -name '*.awk' -o -name '*.toml' -o -name '*.py' \) -print0
  [ $tests = no ] || find tests \( -path '*/golden/*' -o -name '*.sh' \) -type f -print0
) | tar -C "$source" -c --null -T - | tar -C "$root" -x

cuda=$(ldd "$build/gyre" | awk '$1 ~ /^libcublasLt/ { print $1 }')
cat > "$root/bin/gyre" << WRAPPER
#!/bin/sh
# Runs the program of the same name in libexec with the packed libraries, and with those of CUDA that this machine has.
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
paths=\$root/lib
cuda=$cuda # CUDA library that the machine must provide; empty for a CPU build

# Prints the folders in which CUDA's libraries may be: LD_LIBRARY_PATH, the toolkit's, those of pip's wheels.
folders() {
  echo "\${LD_LIBRARY_PATH:-}" | tr : '\\n'
  for folder in "\${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda*; do echo "\$folder/lib64"; done
  python=\${PYTHON:-python3}
  wheels=\$("\$python" -c 'import nvidia; print("\\n".join(nvidia.__path__))' 2> /dev/null)
  echo "\${NCCL_HOME:-/usr/local/nccl}/lib"
  for folder in \$wheels; do echo "\$folder/cu13/lib"; echo "\$folder/cublas/lib"; echo "\$folder/nccl/lib"; done
}

find_library() { # find_library NAME: adds the first folder with this library to paths, unless the loader finds it
  if PATH=\$PATH:/sbin ldconfig -p 2> /dev/null | grep -qF "\$1 "; then return 0; fi
  found=\$(folders | while read -r folder; do if [ -n "\$folder" ] && [ -e "\$folder/\$1" ]; then echo "\$folder"; break; fi; done)
  [ -n "\$found" ] || return 1
  paths=\$paths:\$found
}

if [ -n "\$cuda" ]; then
  find_library "\$cuda" || {
    echo "\${0##*/}: \$cuda of CUDA 13 is missing. Install the CUDA toolkit or 'pip install nvidia-cublas', or name the" \\
      "folder of the library in LD_LIBRARY_PATH, the toolkit in CUDA_HOME, or the Python that has the wheel in PYTHON." >&2
    exit 1
  }
  find_library libnccl.so.2 || true # needed with several GPUs only
fi
export LD_LIBRARY_PATH="\$paths\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export OPAL_PKGLIBDIR="\$root/lib/openmpi" GYRE_SOURCE_DIR="\$root"
exec "\$root/libexec/\${0##*/}" "\$@"
WRAPPER
chmod +x "$root/bin/gyre"
for program in "${programs[@]:1}"; do ln -s gyre "$root/bin/$(basename "$program")"; done

tar -C "$work" --sort=name --owner=0 --group=0 -I "$compress" -cf "$work/archive" "$(basename "$root")"
mkdir -p "$(dirname "$out")"
mv "$work/archive" "$out"
echo "$out: $(du -m "$out" | cut -f1) MiB, ${#programs[@]} programs"
