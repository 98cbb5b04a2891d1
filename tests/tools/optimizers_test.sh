#!/usr/bin/env bash
# Tests the optimizers of gyre train from outside: exact resume, ranks, and options by parameter.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools

small_books
small="--train-sets books.txt --vocab vocab.txt --preset llama-tiny --layers 2 --dim-emb 32 --transformer-heads 2
  --kv-heads 1 --transformer-dim-ffn 64 --max-length 24 --mini-batch 8 --quiet --precision fp32 --threads 1 --deterministic"
weights() { cat "$1/checkpoints/last/model.safetensors" "$1/checkpoints/last/optimizer.safetensors"; }

# A run that stops and continues, and those on several ranks with sharded state and gradients, have the bits of a run
# without a stop.
for optimizer in lion muon normuon; do
  build/gyre train lm $small --optimizer $optimizer --model "$optimizer/" --after 8u
  build/gyre train lm $small --optimizer $optimizer --model "cut-$optimizer/" --after 3u
  build/gyre train lm --model "cut-$optimizer/" --after 8u --quiet
  mpirun -n 2 build/gyre train lm $small --optimizer $optimizer --zero 1 --bucket-mb 0.01 --model "two-$optimizer/" --after 8u
  mpirun -n 3 build/gyre train lm $small --optimizer $optimizer --zero 2 --bucket-mb 0.01 --model "three-$optimizer/" --after 8u
  for other in cut two three; do
    check "$optimizer: the weights of $other" cmp <(weights "$optimizer") <(weights "$other-$optimizer")
  done
done
check "Muon keeps no second moments of matrices" test "$(wc -c < muon/checkpoints/last/optimizer.safetensors)" -lt \
  "$(wc -c < normuon/checkpoints/last/optimizer.safetensors)"

# Defaults of the optimizers, which the run directory records.
grep -q '^optimizer = "lion"' lion/train.toml || fail "train.toml of lion"
grep -q '^optimizer-params = \[0.9, 0.99, ' lion/train.toml || fail "the betas of lion: $(grep params lion/train.toml)"
grep -q '^optimizer-params = \[0.9, 0.95, ' muon/train.toml || fail "the betas of lm: $(grep params muon/train.toml)"
# A plan and the batches of a causal model have the defaults of its training.
echo 'weight-decay = 0.05' > decay.toml
check "a plan with a weight decay" eval 'build/gyre plan lm --preset lm-tiny --vocab-size 300 --config decay.toml --ranks 1 --gflops 10 --memory-gb 5 > plan.txt'
for recipe in "--preset lm-tiny --optimizer adam" "--config $ROOT/tools/recipes/enwik8-base.toml"; do
  check "a plan with $recipe" eval 'build/gyre plan lm --vocab-size 300 $recipe --ranks 1 --gflops 10 --memory-gb 5 > plan.txt'
done
check "batches with a weight decay" eval 'build/gyre inspect batches --causal $small --config decay.toml --updates 1 --output batches.safetensors > batches.txt'
grep -q '^weight-decay = 0.1' muon/train.toml || fail "the weight decay of lm"
build/gyre train lm $small --optimizer adam --model adam/ --after 1u
grep -q '^weight-decay = 0$' adam/train.toml || fail "the weight decay of adam: $(grep decay adam/train.toml)"

# Parameters by pattern.
build/gyre train lm $small --model frozen/ --after 2u --freeze 'embed_*' '*.layers.0.*' --decay-for '*=0' 'embed_*=1' \
  --rate-for '*.layers.1.*=0.123456789' --z-loss 1e-4
grep -qF 'rate-for = ["*.layers.1.*=0.123456789"]' frozen/train.toml || fail "all digits in train.toml: $(grep rate-for frozen/train.toml)"
grep -q '^freeze = \["embed_\*", "\*.layers.0.\*"\]' frozen/train.toml || fail "freeze in train.toml: $(grep freeze frozen/train.toml)"
build/gyre train lm --model frozen/ --after 4u
contains 'of which [0-9.]+ M are trained' < frozen/train.log || fail "the number of trained parameters"
build/gyre train lm $small --model decayed/ --after 2u --layer-decay 0.5

refuse() { # refuse TEXT OPTION..
  local text=$1
  shift
  build/gyre train lm $small --model refused/ --after 2u "$@" > refused.txt 2>&1 && fail "accepted: $*"
  contains "$text" < refused.txt || fail "$*: $(cat refused.txt)"
}
refuse '\[--freeze\] expected a pattern that matches one of .*encoder.layers.\*.*got embed$' --freeze embed
refuse '\[--freeze\] expected patterns that leave parameters to train' --freeze '*'
refuse '\[--decay-for\] expected PATTERN=NUMBER|decay-for.*expected PATTERN=NUMBER' --decay-for 'embed_*'
refuse '\[--layer-decay\]' --layer-decay 0
refuse '\[--momentum\]' --optimizer muon --momentum 1
refuse 'momentum.*--optimizer is adamw' --momentum 0.9
refuse '\[--z-loss\]' --z-loss -1
