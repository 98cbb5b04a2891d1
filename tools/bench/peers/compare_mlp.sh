#!/usr/bin/env bash
# Compares the time of an update of tools/examples/mlp in Gyre and in PyTorch: alternating runs on one thread, medians.
#   tools/bench/peers/compare_mlp.sh PROGRAM [ROUNDS [UPDATES]]
# PROGRAM is the built example. PYTHON (python3) must have torch.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3p' "$0" | sed 's/^# *//' >&2; exit 2; }
here=$(dirname "$0")
program=$(realpath "$1") rounds=${2:-5} updates=${3:-2000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1
for ((round = 0; round < rounds; ++round)); do
  "$program" "$updates" | tail -n 1 >> "$work/gyre"
  "${PYTHON:-python3}" "$here/torch_mlp.py" "$updates" | tail -n 1 >> "$work/torch"
done
median() { cut -d ' ' -f 1 "$1" | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
awk -v gyre="$(median "$work/gyre")" -v torch="$(median "$work/torch")" -v rounds="$rounds" 'BEGIN {
  printf "microseconds per update, medians of %d rounds: gyre %.1f, torch %.1f, ratio %.2f\n", rounds, gyre, torch, torch / gyre }'
