#!/usr/bin/env bash
# Tests gyre gradcheck from outside: ops, models of presets and of runs, output and exit status.
. "$(dirname "$0")/lib.sh"

passes() { # WHAT OPTIONS: checks a small model
  local what=$1
  shift
  "$GYRE" gradcheck --segments 1 --length 5 --entries 1 "$@" > out.txt ||
    { cat out.txt >&2; fail "$what"; }
  echo "ok: $what: $(tail -n 1 out.txt)"
}
for dtype in f64 f32; do
  "$GYRE" gradcheck --op layer_norm --dtype $dtype > out.txt || { cat out.txt >&2; fail "layer_norm in $dtype"; }
  contains '^layer_norm/.* passed  largest error .*\[[0-9]+\]: analytic .*, numeric ' < out.txt ||
    fail "the lines of an op"
  passes "an encoder-decoder in $dtype" --preset transformer-tiny --vocab-size 50 --dtype $dtype
done
passes "an encoder" --preset bert-mini --vocab-size 50
passes "a causal model with learned frequencies" --preset lm-tiny --vocab-size 50 --position rope --rope-learnable
contains '^encoder.embed_positions.frequency_offsets passed ' < out.txt || fail "the frequencies are checked too"
passes "tables of relative distances" --preset roformer-mini --vocab-size 50 --position deberta --deberta-clip 4
passes "a window" --preset lm-tiny --vocab-size 50 --attention window --attention-window 3
from_corpus train.en train.de vocab.model vocab.txt
for preset in llama-tiny gpt2-small neox-160m; do # runs, because the presets have up to 160 million parameters
  "$GYRE" train lm --train-sets train.en --documents line --vocab vocab.txt --preset $preset --layers 2 --dim-emb 32 \
    --transformer-heads 2 --transformer-dim-ffn 32 --max-length 32 --model $preset --after 1u --quiet 2> train.log
  passes "the blocks of $preset" --model $preset
done
passes "linear attention" --preset lm-tiny --vocab-size 50 --position rope --attention linear

"$GYRE" gradcheck --op rope/partial --entries 3 --worst 2 --json > out.json
begins='^\{"passed":true,"dtype":"f64","tolerance":1e-06,"entries":5,"retried":0,"ops":\[\{"op":"rope/partial",'
check "an op as JSON" contains "$begins.*\"inputs\":\[\{\"input\":\"x\",.*\"worst\":\[\{\"op\":" < out.json
same "the requested number of worst entries" "$(grep -o '"retries"' out.json | wc -l)" 4

# A tolerance that no gradient satisfies. The unit tests cover wrong gradients.
status=0
"$GYRE" gradcheck --op rope/partial --entries 3 --tolerance 1e-30 > out.txt || status=$?
same "the exit status of a failed check" "$status" 1
check "the failed op is named" contains '^rope/partial +FAILED' < out.txt
check "the summary of a failure" contains '^0 of 1 passed' < out.txt

# The weights of a run.
small_train --model run --after 2u --quiet
"$GYRE" gradcheck --model run --segments 1 --length 5 --entries 1 --json > out.json
wanted='^\{"passed":true,.*"model":"run","batch":"1 pair of 5 \+ 5 random tokens",.*"parameters":\[\{"parameter":'
check "a run as JSON" contains "$wanted" < out.json

rejects 2 '--op: expected neither --preset nor --model with it' "$GYRE" gradcheck --op rope --preset lm-tiny
rejects 2 '--position would have no effect: there is neither --preset nor --model' \
  "$GYRE" gradcheck --op rope --position alibi
rejects 2 '--checkpoint would have no effect: there is no --model' "$GYRE" gradcheck --preset lm-tiny --checkpoint best
rejects 2 'an encoder-decoder expects softmax, got linear' \
  "$GYRE" gradcheck --preset transformer-tiny --attention linear
rejects 2 '--entries\] expected at least 0, got -1' "$GYRE" gradcheck --entries -1
rejects 2 '--dtype: expected one of f64, f32' "$GYRE" gradcheck --dtype bf16
rejects 2 'expected all or one of .*; got rop$' "$GYRE" gradcheck --op rop
