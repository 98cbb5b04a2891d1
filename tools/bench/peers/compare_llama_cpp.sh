#!/usr/bin/env bash
# Compares gyre generate with llama.cpp on the same weights, a prompt at a time: alternating runs, medians of the rounds and
# the ratio, for prompts of several lengths and for the continuation of each: fp32 with f32, bf16 with bf16, int8 with q8_0.
#   tools/bench/peers/compare_llama_cpp.sh RUN [--rounds N] [--threads N] [--tokens N] [--lengths "4 600 4000"]
# RUN: a decoder that gyre export --to gguf knows. GYRE (build/gyre) is the program. PYTHON (python3) must have xllamacpp,
# built from its source: the wheel on PyPI has no AVX-512.
set -euo pipefail
here=$(dirname "$0")
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
rounds=3 threads=$(nproc) tokens=64 lengths="4 600 4000"
usage() { sed -n '4,6s/^# *//p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
model=$1
shift
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --threads) threads=$2 ;;
    --tokens) tokens=$2 ;;
    --lengths) lengths=$2 ;;
    *) usage ;;
  esac
  shift 2
done
"$python" -c 'import xllamacpp' 2> /dev/null || {
  echo "compare_llama_cpp: $python has no xllamacpp; install it with pip, or set PYTHON to a Python that has it" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS="$threads" "$@"; }
field() { grep -oE "\"$1\": ?[0-9.e+-]+" | head -n 1 | grep -oE '[0-9.e+-]+$'; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
rate() { sed -nE "s/^$1: .* s, ([0-9.]+) tokens\/s.*/\1/p" <<< "$report"; } # rate prompts|continuations

# Words of one letter, which are a token each in most vocabularies.
for length in $lengths; do
  awk -v n="$length" 'BEGIN { for (i = 0; i < n; ++i) printf "%s%c", i ? " " : "", 97 + i % 8 }' > "$work/prompt.$length"
done
for pair in "fp32 f32" "bf16 bf16" "int8 q8_0"; do
  read -r precision type <<< "$pair"
  "$gyre" export --to gguf --outtype "$type" --model "$model" --output "$work/$type.gguf" 2> "$work/export.log" ||
    { cat "$work/export.log" >&2; exit 1; }
  for ((round = 0; round < rounds; ++round)); do
    for length in $lengths; do
      report=$(run "$gyre" generate --model "$model" --precision "$precision" --threads "$threads" \
        --prompt "$(cat "$work/prompt.$length")" --max-tokens "$tokens" --temperature 0 2>&1 > /dev/null) ||
        { echo "$precision: ${report##*$'\n'}" >&2; continue 3; } # such as bf16 on a CPU without its instructions
      rate prompts >> "$work/$type.$length.prompt"
      rate continuations >> "$work/$type.$length.continuation"
      run "$python" "$here/llama_cpp_generate.py" --model "$work/$type.gguf" --prompt "$work/prompt.$length" \
        --threads "$threads" --tokens "$tokens" > "$work/peer.json" 2> "$work/peer.log" ||
        { tail -n 20 "$work/peer.log" >&2; exit 1; }
      field prompt_tokens < "$work/peer.json" > "$work/$type.$length.tokens"
      field prompt_tokens_per_second < "$work/peer.json" >> "$work/$type.$length.peer_prompt"
      field tokens_per_second < "$work/peer.json" >> "$work/$type.$length.peer_continuation"
    done
  done
  for length in $lengths; do
    of=$work/$type.$length
    awk -v precision="$precision" -v type="$type" -v n="$(cat "$of.tokens")" -v p="$(median "$of.prompt")" \
      -v q="$(median "$of.peer_prompt")" -v c="$(median "$of.continuation")" -v d="$(median "$of.peer_continuation")" \
      'BEGIN { printf "prompt of %d: gyre %s %.0f tokens/s : llama.cpp %s %.0f : ratio %.2f\n", n, precision, p, type, q, p / q
               printf "continuation after %d: gyre %s %.1f tokens/s : llama.cpp %s %.1f : ratio %.2f\n", n, precision, c, type, d, c / d }'
  done
  rm "$work/$type.gguf"
done
