#!/usr/bin/env bash
# Checks what nvcc says about the kernels: that the static shared memory of each fits beside the dynamic shared memory of
# the launches on the emulated GPU (both together may have 48 KB, or what the GPU has if the launch asked for it), that
# ptxas does not serialize products of warpgroups or ignore setmaxnreg, and that kernels with them spill no registers.
#   tools/scripts/check_kernels.sh PTXAS_LOG SIZES
# PTXAS_LOG: the output of a whole build with -Xptxas=-v. SIZES: the list that programs on the emulated GPU write to
# $GYRE_CUDA_EMULATION_SHARED.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
for file in "$1" "$2"; do
  [ -s "$file" ] || { echo "check_kernels: $file is missing or empty" >&2; exit 1; }
done
if grep -E '\(C75[0-9]+\)' "$1" >&2; then
  echo "check_kernels: ptxas changes the order of asynchronous products, or their registers" >&2
  exit 1
fi
awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2]; products = /sm_90a/ }
  /bytes spill stores/ && products {
    ++kernels
    if ($0 !~ / 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/) { print name ": " $0; ++failed }
  }
  END {
    printf "registers of nvcc: %d kernels for 9.0a, %d of them use the stack\n", kernels, failed
    exit failed > 0 || !kernels
  }' "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints "NAME NUMBER.." for lines "MANGLED_NAME NUMBER..". The two compilers mangle anonymous namespaces and types of
# parameters differently, so the names are those of the functions with their template arguments, without blanks.
short_names() {
  c++filt | awk '{
    numbers = ""
    while ($NF ~ /^[0-9]+$/) { numbers = " " $NF numbers; sub(/ [0-9]+$/, "") }
    gsub(/\(anonymous namespace\)::/, "")
    depth = 0; begin = 1
    for (i = 1; i <= length($0); ++i) {
      c = substr($0, i, 1)
      if (c == "<") ++depth
      if (c == ">") --depth
      if (depth == 0 && c == "(") break
      if (depth == 0 && (c == " " || c == ":")) begin = i + 1
    }
    name = substr($0, begin, i - begin)
    gsub(/ /, "", name)
    print name numbers
  }'
}

awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
  / Used [0-9]+ registers/ { print name, (match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0) }' "$1" |
  short_names > "$work/static"
short_names < "$2" > "$work/dynamic"
# A kernel with a lambda as template argument has different names, so that the largest of its instances counts.
awk 'function base(name) { sub(/<.*/, "", name); return name }
  function note(name, bytes) { if (!(name in fixed) || bytes > fixed[name]) fixed[name] = bytes }
  NR == FNR { note($1, $2); note(base($1), $2); next }
  { name = $1 in fixed ? $1 : base($1) }
  !(name in fixed) { print $1 ": not in the log of nvcc"; ++failed; next }
  fixed[name] + $2 > $3 {
    printf "%s: %d bytes of static and %d of dynamic shared memory, %d are allowed\n", $1, fixed[name], $2, $3
    ++failed
  }
  { ++compared }
  END {
    printf "shared memory of nvcc: %d launched kernels compared, %d of them fail\n", compared, failed
    exit failed > 0 || !compared
  }' "$work/static" <(sort -u "$work/dynamic")
