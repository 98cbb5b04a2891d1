#!/usr/bin/env bash
# Tests a build without MPI: it trains in one process, and it rejects being started as one of several ranks.
. "$(dirname "$0")/lib.sh"
skipped "tests that start several ranks" "this build has no MPI (GYRE_MPI=OFF)"

small_corpus
train() {
  "$GYRE" train nmt --train-sets train.en train.de --vocab vocab.model --dim-emb 16 --transformer-dim-ffn 16 --enc-depth 1 \
    --dec-depth 1 --transformer-heads 2 --mini-batch-words 200 --quiet "$@"
}
train --model run --after 2u
check "one process trains" test -f run/checkpoints/last/model.safetensors
OMPI_COMM_WORLD_SIZE=1 train --model alone --after 2u
check "mpirun -n 1 is one process" cmp run/checkpoints/last/model.safetensors alone/checkpoints/last/model.safetensors
OMPI_COMM_WORLD_SIZE=2 rejects 2 'this build has no MPI .*without mpirun' train --model other --after 2u
check "the build information has no MPI" grep -qx 'MPI: none' <("$GYRE" --build-info)
