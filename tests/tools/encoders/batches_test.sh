#!/usr/bin/env bash
# Tests gyre inspect batches from outside: the file, the options that it reads, and the runs that it follows.
. "$(dirname "$0")/../lib.sh"
small_books
recipe="--config $ROOT/tools/recipes/mlm-small.toml --position learned --vocab vocab.txt --max-length 32 --mini-batch 4"
batches() { "$GYRE" inspect batches "$@" --quiet; }

batches $recipe --train-sets books.txt --updates 3 --output text.st > text.out
contains '^text\.st: 3 updates, 11 samples, [0-9]+ tokens, [0-9]+ predictions$' < text.out || fail "the summary: $(cat text.out)"
header() { head -c "$((8 + $(od -An -tu8 -N8 "$1")))" "$1" | tail -c +9; }
same "the tensors" "$(header text.st | grep -oE '"update-[0-9]+\.[a-z]+":\{"dtype":"I32"' | cut -d'"' -f2 | sort | paste -sd' ')" \
  "$(for i in 1 2 3; do for name in ids offsets rows targets; do echo "update-0000000$i.$name"; done; done | paste -sd' ')"
same "offsets of 4, 4 and 3 samples" "$(header text.st | grep -oE 'offsets":\{"dtype":"I32","shape":\[[0-9]+' | sed 's/.*\[//' | sort | paste -sd' ')" "4 5 5"
batches $recipe --train-sets books.tok --updates 3 --micro-batches 2 --output store.st > store.out
check "the same batches from a token store, in several micro-batches" cmp text.st store.st
batches $recipe --train-sets books.tok --updates 3 --seed 2 --output seed.st > seed.out
cmp -s text.st seed.st && fail "another seed has the same batches"

small="--layers 1 --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --quiet"
"$GYRE" train mlm $recipe --train-sets books.tok --model run $small --after 1u --valid-freq 1u
touch before
batches --model run --updates 3 --output run.st > run.out
check "the batches of a run, by its directory" cmp text.st run.st
check "nothing is written into the run" test -z "$(find run -newer before)"
"$GYRE" train lm --train-sets books.tok --vocab vocab.txt --max-length 32 --mini-batch 4 --model lm $small --after 1u
batches --model lm --updates 2 --output lm.st > lm.out
batches --causal --train-sets books.tok --vocab vocab.txt --max-length 32 --mini-batch 4 --updates 2 --output causal.st > causal.out
check "the batches of a causal run" cmp lm.st causal.st
header lm.st | contains 'rows' && fail "a causal model has no rows to predict"

printf '[[stage]]\nupdates = 2\n' > stages.toml
rejects 2 '--updates\] expected at most the 2 updates of all stages, got 3' \
  batches --config stages.toml --train-sets books.tok --vocab vocab.txt --updates 3
rejects 2 '--mask-share would have no effect: a causal model' batches --causal $recipe --train-sets books.tok --mask-share 0.2
rejects 2 '--causal would have no effect: --model says which kind' batches --model lm --causal
rejects 2 '--model would have no effect beside other options: --config run/train.toml has those of the run' batches --model run $recipe --train-sets books.tok
rejects 2 '--updates\] expected at least 1, got 0' batches $recipe --train-sets books.tok --updates 0
rejects 2 '--output: .*books.tok' batches $recipe --train-sets books.tok --output books.tok
rejects 1 '/dev/full' batches $recipe --train-sets books.tok --output /dev/full
rejects 2 '--train-sets and --vocab are missing; none/train.toml does not exist' batches --model none
