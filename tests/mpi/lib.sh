# Library of the tests with several ranks: tests/tools/lib.sh, and a training run on two ranks.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/lib.sh"
export OPENBLAS_NUM_THREADS=1
small_corpus > corpus.log 2>&1

# Prints the command of a rank of a run in directory $1; further arguments are options.
rank_of() {
  local run=$1
  shift
  echo "$GYRE" train nmt --train-sets $sets --vocab vocab.model --model "$run" --dim-emb 16 \
    --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 300 --cpu-threads 1 \
    --lr-warmup 20 --disp-freq 1u "$@"
}

# Starts two ranks in the background. $job is the process of the script, $launcher its mpirun, $ranks the children of
# mpirun; wait_for_update sets the last two.
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
  launcher=$(pgrep -P "$job" -x mpirun || true)
  ranks=$(pgrep -P "$launcher" || true)
}

same_bits() { # same_bits WHAT RUN RUN
  local file
  for file in model optimizer; do
    check "$1: $file" cmp "$2/checkpoints/last/$file.safetensors" "$3/checkpoints/last/$file.safetensors"
  done
}

# Prints the valid train and valid events of metrics.jsonl without times: those that no later resume event drops.
measured() { # measured RUN
  awk '{ match($0, /"updates":[0-9]+/); updates = substr($0, RSTART + 10, RLENGTH - 10) + 0 }
    /"event":"resume"/ { for (i = 1; i <= n; ++i) if (at[i] > updates) line[i] = "" }
    /"event":"(train|valid)"/ { line[++n] = $0; at[n] = updates }
    END { for (i = 1; i <= n; ++i) if (line[i] != "") print line[i] }' "$1/metrics.jsonl" |
    sed -E 's/"time":"[^"]*",//; s/,"(seconds|validation_seconds|tokens_per_second|tflops|share|memory_mb|gpu_memory_mb)":[0-9.e+-]+//g'
}

# Prints the state of the last checkpoint without times: progress, best, early stopping, checksums of all tensors.
state_of() { # state_of RUN
  grep -vE '^ "(seconds|checksum)":' "$1/checkpoints/last/state.json"
}

# Checks that two runs have equal results: weights, metrics, state, links and end.
same_run() { # same_run WHAT RUN RUN
  local file run link
  same_bits "$@"
  for run in "$2" "$3"; do
    measured "$run" > "$run.measured"
    state_of "$run" > "$run.state"
    for link in best last; do echo "$link -> $(readlink "$run/checkpoints/$link")"; done > "$run.links"
    tail -n 1 "$run/metrics.jsonl" | grep -oE '"event":"end","updates":[0-9]+,"reason":"[^"]*"|"best":\{[^}]*\}' > "$run.end"
  done
  for file in measured state links end; do
    diff "$2.$file" "$3.$file" >&2 || fail "$1: $file differs"
  done
  if [ -L "$3/checkpoints/best" ]; then
    check "$1: best" cmp "$2/checkpoints/best/model.safetensors" "$3/checkpoints/best/model.safetensors"
  fi
  echo "ok: $1: the same progress, validations, best and metrics"
}
