#!/usr/bin/env bash
# Fine-tunes a causal language model on answers in Gyre and in Hugging Face transformers with PEFT: all weights, then
# adapters, with the same recipe in fp32, one after the other. Prints the loss of the held-out answers of each.
#   tools/bench/peers/compare_fine_tuning.sh MODEL TRAIN.jsonl VALID.jsonl OUTPUT [EPOCHS]
# MODEL: a directory of transformers, with a chat template. The files have a conversation per line ({"messages": [..]}),
# which ends with the answer. OUTPUT gets the runs and table.md. Environment: GYRE=build/gyre, PYTHON=python3, which must
# have torch, transformers and peft. Existing results are kept, so the script resumes.
set -euo pipefail
here=$(dirname "$0")
[ $# -ge 4 ] || { sed -n '4,7s/^# *//p' "$0" >&2; exit 2; }
model=$1 train=$2 valid=$3 output=$4 epochs=${5:-1}
gyre=${GYRE:-build/gyre} python=${PYTHON:-python3}
"$python" -c 'import torch, transformers, peft' 2> /dev/null || {
  echo "compare_fine_tuning: $python has no torch, no transformers or no peft; install them with pip, or set PYTHON" >&2
  exit 1
}
mkdir -p "$output"
# Lets OpenBLAS and oneDNN choose their kernels for this CPU.
run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$@"; }
[ -e "$output/base/config.json" ] || "$gyre" import --from hf "$model" --output "$output/base"

# Losses after each epoch, one per line; transformers prints that before the training first.
gyre_losses() { sed -n 's/.*"event":"valid.*"cross-entropy":\([0-9.]*\).*/\1/p' "$output/gyre-$1/metrics.jsonl"; }
peer_losses() { sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p' "$output/transformers-$1.jsonl"; }

compare() { # compare NAME LEARN_RATE [OPTIONS OF gyre train lm]...
  local name=$1 rate=$2 rank=0
  shift 2
  [ $# -eq 0 ] || rank=8
  run "$gyre" train lm --pretrained-model "$output/base" --format chat --train-sets "$train" --valid-sets "$valid" \
    --max-length 512 --mini-batch 16 --after "${epochs}e" --optimizer-params 0.9 0.999 1e-8 --weight-decay 0 \
    --clip-norm 1 --learn-rate "$rate" --lr-schedule cosine --lr-warmup 0 --transformer-dropout 0 --valid-freq 1e \
    --save-freq 1e --quiet --model "$output/gyre-$name" "$@"
  if [ ! -e "$output/transformers-$name.jsonl" ]; then
    run "$python" "$here/transformers_fine_tuning.py" --model "$model" --train "$train" --valid "$valid" \
      --learn-rate "$rate" --epochs "$epochs" --rank $rank > "$output/new.jsonl"
    mv "$output/new.jsonl" "$output/transformers-$name.jsonl"
  fi
  paste <(gyre_losses "$name") <(peer_losses "$name" | tail -n +2) | awk -v name="$name" \
    -v before="$(peer_losses "$name" | head -n 1)" \
    '{ printf "| %s | %d | %.4f | %.4f | %.4f | %.2f %% |\n", name, NR, before, $1, $2, 100 * ($1 / $2 - 1) }' >> "$output/rows"
}

rm -f "$output/rows"
compare whole 2e-5
compare adapters 2e-4 --lora-rank 8 --lora-alpha 16 --lora-targets q_proj v_proj
{
  echo "| trained | epoch | loss before | Gyre | transformers | difference |"
  echo "|---|---|---|---|---|---|"
  cat "$output/rows"
} | tee "$output/table.md"
