#!/usr/bin/env bash
# Compares gyre generate with Hugging Face transformers on the same weights, a prompt at a time: alternating runs, medians
# of the rounds, the ratio, and the share of the memory bandwidth by bytes of weights per token.
#   tools/bench/peers/compare_generate.sh RUN [--rounds N] [--threads N] [--tokens N] [--precision fp32|bf16]
# RUN: a decoder that gyre export --to hf knows. GYRE (build/gyre) is the program. PYTHON (python3) must have transformers.
set -euo pipefail
here=$(dirname "$0")
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
rounds=3 threads=$(nproc) tokens=64 precision=fp32
if [ $# -lt 1 ]; then
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
fi
model=$1
shift
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2 ;;
    --threads) threads=$2 ;;
    --tokens) tokens=$2 ;;
    --precision) precision=$2 ;;
    *)
      sed -n '4,5s/^# *//p' "$0" >&2
      exit 2
      ;;
  esac
  shift 2
done
"$python" -c 'import transformers' 2> /dev/null || {
  echo "compare_generate: $python has no transformers; install it with pip, or set PYTHON to a Python that has it" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS="$threads" "$@"; }
field() { grep -oE "\"$1\": ?[0-9.e+-]+" | head -n 1 | grep -oE '[0-9.e+-]+$'; }
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
generate() { # generate PROMPT TOKENS: sets the report
  report=$(run "$gyre" generate --model "$model" --precision "$precision" --threads "$threads" --prompt "$1" \
    --max-tokens "$2" --temperature 0 2>&1 > /dev/null)
}
rate() { sed -nE "s/^$1: .* s, ([0-9.]+) tokens\/s.*/\1/p" <<< "$report"; } # rate prompts|continuations

"$gyre" export --to hf --model "$model" --output "$work/hf" 2> "$work/export.log" || { cat "$work/export.log" >&2; exit 1; }
words=$(printf 'a b c d e f g h %.0s' {1..64})
for ((round = 0; round < rounds; ++round)); do
  generate "$words" 1
  rate prompts >> "$work/prompt"
  generate "a b" "$tokens"
  rate continuations >> "$work/continuation"
  sed -nE 's/.* ([0-9.]+) GB\/s of weights$/\1/p' <<< "$report" >> "$work/gbytes"
  run "$python" "$here/transformers_generate.py" --model "$work/hf" --precision "$precision" --threads "$threads" \
    --tokens "$tokens" > "$work/peer.json" 2> "$work/peer.log" || { cat "$work/peer.log" >&2; exit 1; }
  field prompt_tokens_per_second < "$work/peer.json" >> "$work/peer_prompt"
  field tokens_per_second < "$work/peer.json" >> "$work/peer_continuation"
  run "$gyre" bench ops --preset multi30k-tiny --steps 1 --threads "$threads" --json 2> /dev/null | field limit_gbytes >> "$work/limit"
done
awk -v p="$(median "$work/prompt")" -v q="$(median "$work/peer_prompt")" -v c="$(median "$work/continuation")" \
  -v d="$(median "$work/peer_continuation")" -v g="$(median "$work/gbytes")" -v l="$(median "$work/limit")" \
  'BEGIN { printf "prompt: gyre %.0f tokens/s : transformers %.0f : ratio %.2f\n", p, q, p / q
           printf "continuation: gyre %.1f tokens/s : transformers %.1f : ratio %.2f : %.1f GB/s of weights, %.0f %% of %.1f\n",
                  c, d, c / d, g, 100 * g / l, l }'
