#!/usr/bin/env bash
# Tests tools/experiments/mlm_convergence.sh on a few sentences: the losses, the picture, and a continuation.
. "$(dirname "$0")/../lib.sh"
convergence=$ROOT/tools/experiments/mlm_convergence.sh
small_books
mkdir out && cp vocab.txt out/ && mv books.tok out/text.tok
export RANKS=1 SEEDS=3
run() { # POSITIONS UPDATES
  POSITIONS=$1 "$convergence" books.txt out --after "$2u" --save-freq 2u --valid-freq 2u --layers 1 --dim-emb 16 \
    --transformer-heads 2 --transformer-dim-ffn 16 --max-length 32 --precision fp32 --cpu-threads 1 --quiet \
    > log.out 2> log.err || { cat log.err >&2; fail "$*"; }
}
rejects 2 '^so the script resumes' "$convergence" books.txt
run "learned rope" 4
same "a row per validation" "$(cut -f 1,2 out/losses.tsv | tr '\t\n' ' ,')" "learned-3 2,learned-3 4,rope-3 2,rope-3 4,"
same "the last losses" "$(sed 's/loss [0-9.]*/loss/' log.out | tail -n 2 | paste -sd,)" \
  "learned-3: validation loss after 4 updates,rope-3: validation loss after 4 updates"
check "the picture" test -s out/curves.png
check "half the batch of the recipe" grep -qx 'mini-batch-words = 16' out/rope-3/train.toml
cp out/losses.tsv first.tsv
run rope 6
same "the run continues" "$(head -n 2 out/losses.tsv)" "$(tail -n 2 first.tsv)"
same "its updates" "$(cut -f 2 out/losses.tsv | paste -sd' ')" "2 4 6"
