#!/usr/bin/env bash
# Compares beam search in Gyre and in CTranslate2 with the same weights: alternating runs, medians, the ratio, BLEU.
#   tools/bench/peers/compare_ctranslate2.sh RUN TEXT REFERENCE [THREADS]
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
model=$1 text=$2 reference=$3 threads=${4:-$(nproc)}
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

for precision in fp32 bf16; do
  "$gyre" translate --model "$model" --precision "$precision" --cpu-threads "$threads" --input "$text" \
    --output "$work/$precision" --quiet || exit 1
  run "$gyre" bench decode --model "$model" --input "$text" --sentences 1000000 --precision "$precision" \
    --threads "$threads" --json > "$work/$precision.json"
  run "$python" "$here/ctranslate2_peer.py" --model "$checkpoint/model.safetensors" --config "$model/config.json" \
    --vocab "$(ls "$model"/vocab.*model | head -n 1)" --input "$text" --threads "$threads" --output "$work/ct2" > "$work/ct2.json"
  ours=$(field sentences_per_second < "$work/$precision.json")
  theirs=$(field sentences_per_second < "$work/ct2.json")
  bleu=$("$gyre" evaluate bleu --reference "$reference" --json < "$work/$precision" | field bleu)
  peer_bleu=$("$gyre" evaluate bleu --reference "$reference" --json < "$work/ct2" | field bleu)
  awk -v p="$precision" -v a="$ours" -v b="$theirs" -v x="$bleu" -v y="$peer_bleu" \
    'BEGIN { printf "gyre %s %.0f sentences/s, BLEU %.2f : ctranslate2 fp32 %.0f sentences/s, BLEU %.2f : ratio %.2f\n", p, a, x, b, y, a / b }'
done
