#!/usr/bin/env bash
# Tests every position encoding and kind of attention: a run on one rank, and a run on two ranks that resumes on one,
# have the same bits.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1

from_corpus train.en vocab.model
train() { # RUN UPDATES OPTIONS
  local run=$1 updates=$2
  shift 2
  "$GYRE" train lm --train-sets train.en --vocab vocab.model --model "$run" --after "${updates}u" --threads 1 \
    --layers 2 --dim-emb 32 --transformer-dim-ffn 32 --max-length 48 --batch-unit sentences --mini-batch-words 6 \
    --precision fp32 --deterministic --quiet "$@"
}
export -f train
export GYRE

same_bits() { # NAME OPTIONS
  local name=$1
  shift
  train "$name-1" 4 "$@"
  mpirun -n 2 bash -c 'train "$@"' train "$name-2" 2 "$@"
  train "$name-2" 4 "$@"
  check "$name: the same bits on one rank, and on two ranks, then one" \
    cmp "$name-1/checkpoints/last/model.safetensors" "$name-2/checkpoints/last/model.safetensors"
}

for position in none sinusoidal learned shaw nezha xl t5 tupe deberta alibi wavelet; do
  same_bits "$position" --position "$position"
done
same_bits rope --position rope --rope-learnable --rope-step 0.5
same_bits window --attention window --attention-window 8 --position t5
for map in elu+1 softmax relu; do same_bits "$map" --attention linear --linear-map "$map"; done
same_bits favor --attention linear --linear-map favor+ --favor-redraw 1

rejects 2 '^gyre: \[wavelet\] scales x shifts must fill the head.s width, 8, got 2 scales x 3 shifts; see --position, --wavelet-scales, --wavelet-shifts, ' \
  train bad 1 --position wavelet --wavelet-scales 1,2 --wavelet-shifts 0,1,2
rejects 2 '^gyre: \[rope\] rotary dims must be even, got 3; see --position, --rotary-dims, ' train bad 1 --position rope --rotary-dims 3
rejects 2 'linear.*alibi.*expected position none, sinusoidal, learned or rope' \
  train bad 1 --position alibi --attention linear
rejects 2 '\[--max-length\] expected at most 40, the number of positions of the model .*, got 48' \
  train bad 1 --position learned --max-positions 40
rejects 2 '--shaw-clip would have no effect' train bad 1 --position rope --shaw-clip 4
