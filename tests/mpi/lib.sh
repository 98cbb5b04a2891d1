# For scripts that start several ranks: tests/tools/lib.sh, and a training run on two of them.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"
export OPENBLAS_NUM_THREADS=1
mpirun() { "$ROOT/tools/scripts/mpirun.sh" "$@"; }
small_corpus > corpus.log 2>&1

# What a rank of a run into directory $1 executes; further options follow.
rank_of() {
  local run=$1
  shift
  echo "$GYRE" train nmt --train-sets $sets --vocab vocab.model --model "$run" --dim-emb 16 \
    --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 300 --cpu-threads 1 \
    --lr-warmup 20 --disp-freq 1u "$@"
}

# Starts two ranks in the background: $job is mpirun, $ranks its ranks.
start_two() {
  "$ROOT/tools/scripts/mpirun.sh" -n 2 $(rank_of "$@") > job.log 2>&1 &
  job=$!
  ranks=
}

# Waits until the run in directory $1 has logged update $2 or more.
wait_for_update() {
  local tries=0
  until [ -f "$1/metrics.jsonl" ] && [ "$(grep -c '"event":"train"' "$1/metrics.jsonl")" -ge "$2" ]; do
    sleep 0.02
    tries=$((tries + 1))
    [ $tries -lt 3000 ] || { cat job.log >&2; fail "$1 did not reach update $2"; }
  done
  ranks=$(pgrep -P "$job" || true)
}

same_bits() { # same_bits WHAT RUN RUN
  local file
  for file in model optimizer; do
    check "$1: $file" cmp "$2/checkpoints/last/$file.safetensors" "$3/checkpoints/last/$file.safetensors"
  done
}
