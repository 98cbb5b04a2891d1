#!/usr/bin/env bash
# Tests that tools/cluster/train.sbatch finds the run directory and requeues the job if a signal ended the run, and that
# train-gpu.sbatch does the same on GPUs. srun and scontrol are replaced by stubs.
. "$(dirname "$0")/lib.sh"
unset GYRE # the scripts have a default
mkdir bin run other
printf '#!/bin/sh\necho "$@ SRUN_CPUS_PER_TASK=$SRUN_CPUS_PER_TASK" > srun.txt\n' > bin/srun
printf '#!/bin/sh\necho "$@" > scontrol.txt\n' > bin/scontrol
chmod +x bin/srun bin/scontrol
export PATH=$work/bin:$PATH SLURM_CPUS_PER_TASK=2 SLURM_JOB_ID=17
echo '{"event":"end","updates":5,"reason":"stopped by a signal: the same command continues the run"}' > run/metrics.jsonl
echo '{"event":"end","updates":5,"reason":"reached --after 5u"}' > other/metrics.jsonl
echo 'model = "other"' > other.toml
printf 'seed = 2\n  model = "run"  # here\n' > run.toml
echo 'seed = 1' > seed.toml
echo "model = run # a bare word" > bare.toml

turn() { # turn WANTED OPTION...: checks whether the job is requeued
  local wanted=$1
  shift
  rm -f scontrol.txt srun.txt
  bash "$ROOT/tools/cluster/train.sbatch" nmt "$@"
  grep -qF -- "$*" srun.txt || fail "srun got other options than $*"
  same "$*" "$(cat scontrol.txt 2> none.txt || echo none)" "$wanted"
}
turn "requeue 17" --model run --seed 1
turn "requeue 17" --seed 1 -m run
turn "requeue 17" --model=run --seed 1
turn "requeue 17" --save-dir=run
turn "requeue 17" --config run.toml
turn "requeue 17" --config=run.toml --seed 1
turn "requeue 17" --config bare.toml
turn "requeue 17" -c other.toml run.toml seed.toml --seed 1
turn "requeue 17" --config other.toml --model run
turn none --config run.toml other.toml
turn none --config run.toml --model=other
rejects 2 "expected --model DIRECTORY among the options" bash "$ROOT/tools/cluster/train.sbatch" nmt --config seed.toml
same "the command" "$(cat srun.txt)" \
  "--mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores build/gyre train nmt --config run.toml --model=other --auto-resume --threads 2 SRUN_CPUS_PER_TASK=2"
(
  unset SLURM_CPUS_PER_TASK
  export SLURM_MPI_TYPE=pmi2
  turn "requeue 17" --model run
  same "without --cpus-per-task" "$(cat srun.txt)" \
    "--mpi=pmi2 --kill-on-bad-exit=1 --cpu-bind=cores build/gyre train nmt --model run --auto-resume SRUN_CPUS_PER_TASK="
)
rm -f scontrol.txt
SLURM_SUBMIT_DIR=$ROOT bash "$ROOT/tools/cluster/train-gpu.sbatch" lm --model run
same "a job on GPUs" "$(cat scontrol.txt) $(cat srun.txt)" \
  "requeue 17 --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores --gpu-bind=none build/gyre train lm --model run --device cuda --auto-resume --threads 2 SRUN_CPUS_PER_TASK=2"
setting() { sed -nE "s/^#SBATCH --$1=//p" "$ROOT/tools/cluster/train-gpu.sbatch"; }
same "as many tasks as GPUs on a node" "$(setting ntasks-per-node)" "$(setting gpus-per-node)"
