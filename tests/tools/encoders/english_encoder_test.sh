#!/usr/bin/env bash
# Tests tools/experiments/english_encoder.sh on a few sentences: the directory for transformers, and a continuation.
. "$(dirname "$0")/../lib.sh"
encoder=$ROOT/tools/experiments/english_encoder.sh
small_books
export RANKS=1 PIECES=200 LICENSE=
run() { # UPDATES
  "$encoder" books.txt out --after "$1u" --save-freq 2u --valid-freq 2u --layers 1 --dim-emb 16 --transformer-heads 2 \
    --transformer-dim-ffn 16 --max-length 32 --mini-batch 4 --precision fp32 --cpu-threads 1 --quiet \
    > log.out 2> log.err || { cat log.err >&2; fail "$1 updates"; }
}
rejects 2 '^hf/, the directory|^its card; default' "$encoder" books.txt
run 4
same "the directory for transformers" "$(ls out/hf | paste -sd' ')" \
  "README.md config.json model.safetensors tokenizer_config.json vocab.txt"
check "the size of the vocabulary" test "$(wc -l < out/hf/vocab.txt)" -eq 200
check "the language of the card" grep -qx 'language: "en"' out/hf/README.md
grep -q '^license' out/hf/README.md && fail "a license that nobody gave"
same "the metrics" "$(cut -d: -f1 log.out | paste -sd' ')" "accuracy cross-entropy perplexity"
check "each with the update" grep -qE '^cross-entropy: [0-9.]+ after (2|4) updates$' log.out
LICENSE=mit run 8
check "the run continues" grep -q '"event":"resume","updates":4' out/english-encoder/metrics.jsonl
check "the card has the license" grep -qx 'license: "mit"' out/hf/README.md
check "the recipe of the long training" grep -qx 'total-updates = 10000' out/english-encoder/train.toml
