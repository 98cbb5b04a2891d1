#!/usr/bin/env bash
# Compares beam search in Gyre and in CTranslate2 with the same weights: alternating runs, medians, the ratio, BLEU.
#   tools/bench/peers/compare_ctranslate2.sh RUN TEXT REFERENCE [THREADS [TURNS]]
# RUN must be trained with --position sinusoidal on a SentencePiece vocabulary. GYRE (build/gyre) is the program. PYTHON
# (python3) must have ctranslate2, sentencepiece and safetensors.
set -euo pipefail
here=$(dirname "$0")
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
if [ $# -lt 3 ]; then
  sed -n '3,5s/^# *//p' "$0" >&2
  exit 2
fi
model=$1 text=$2 reference=$3 threads=${4:-$(nproc)} turns=${5:-3}
"$python" -c 'import ctranslate2, sentencepiece, safetensors' 2> /dev/null || {
  echo "compare_ctranslate2: $python lacks ctranslate2, sentencepiece or safetensors; install them with pip, or set PYTHON" >&2
  exit 1
}
checkpoint=$model/checkpoints/best
[ -e "$checkpoint" ] || checkpoint=$model/checkpoints/last
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS="$threads" "$@"; }
field() { grep -oE "\"$1\": ?[0-9.e+-]+" | head -n 1 | grep -oE '[0-9.e+-]+$'; }

median() { sort -g | awk '{ x[NR] = $1 } END { print (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

# The peer's type for a precision of Gyre. bf16 is compared with fp32: CTranslate2 has bf16 on few CPUs only.
peer_type() { if [ "$1" = int8 ]; then echo int8; else echo float32; fi; }

for precision in fp32 bf16 int8; do
  for _ in $(seq "$turns"); do
    run "$gyre" bench decode --model "$model" --input "$text" --sentences 1000000 --precision "$precision" \
      --threads "$threads" --json | field sentences_per_second >> "$work/$precision.rates"
    run "$python" "$here/ctranslate2_peer.py" --model "$checkpoint/model.safetensors" --config "$model/config.json" \
      --vocab "$(ls "$model"/vocab.*model | head -n 1)" --input "$text" --threads "$threads" --output "$work/ct2" \
      --compute-type "$(peer_type "$precision")" | field sentences_per_second >> "$work/$precision.peer_rates"
  done
  "$gyre" translate --model "$model" --precision "$precision" --cpu-threads "$threads" --input "$text" \
    --output "$work/$precision" --quiet
  bleu=$("$gyre" evaluate bleu --reference "$reference" --json < "$work/$precision" | field bleu)
  peer_bleu=$("$gyre" evaluate bleu --reference "$reference" --json < "$work/ct2" | field bleu)
  ours=$(median < "$work/$precision.rates")
  theirs=$(median < "$work/$precision.peer_rates")
  awk -v p="$precision" -v q="$(peer_type "$precision")" -v a="$ours" -v b="$theirs" -v x="$bleu" -v y="$peer_bleu" \
    'BEGIN { printf "gyre %s %.0f sentences/s, BLEU %.2f : ctranslate2 %s %.0f sentences/s, BLEU %.2f : ratio %.2f\n", p, a, x, q, b, y, a / b }'
done
