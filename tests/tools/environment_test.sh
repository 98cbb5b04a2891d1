#!/usr/bin/env bash
# The environment that a launcher, a queue or a shell gives to the program: OpenMP's variables, signals, closed streams,
# limits of files, Slurm without PMI, mpirun for commands of one process.
. "$(dirname "$0")/lib.sh"
export OPENBLAS_NUM_THREADS=1
unset GOMP_SPINCOUNT KMP_BLOCKTIME # which lib.sh sets
trap 'kill -9 $(jobs -p) 2> kill.log || true; rm -rf "$work"' EXIT
mpirun=$ROOT/tools/scripts/mpirun.sh
small_corpus > corpus.log 2>&1
tiny="$GYRE train nmt --train-sets $sets --vocab vocab.model --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2
  --enc-depth 1 --dec-depth 1 --mini-batch-words 400 --disp-freq 1u --save-freq 100000u"
end_of() { tail -n 1 "$1/metrics.jsonl" | sed -nE 's/.*"event":"end","updates":([0-9]+),"reason":"([a-z ]*).*/\1 \2/p'; }
wait_for() { # wait_for WHAT COMMAND...: waits until the command succeeds
  local what=$1 tries
  shift
  for tries in $(seq 1000); do
    ! "$@" 2> wait.log || return 0
    sleep 0.02
  done
  fail "$what: not after $tries tries"
}
has_updates() { [ "$(grep -c '"event":"train"' "$1/metrics.jsonl")" -ge "$2" ]; }

# OpenMP's variables leave the cores of the process, unless they name cores or a number.
cores=$(env -u OMP_NUM_THREADS nproc)
threads_with() { env -u OMP_NUM_THREADS "$@" "$GYRE" --build-info 2> info.log | sed -n 's/^threads: //p'; }
if [ "$cores" -gt 1 ]; then
  first=$(sed -nE 's/^Cpus_allowed_list:\t([0-9]+).*/\1/p' /proc/$$/status)
  for variables in OMP_PROC_BIND=true OMP_PROC_BIND=close OMP_PROC_BIND=spread OMP_PROC_BIND=master OMP_PLACES=cores \
    OMP_PLACES=threads OMP_PLACES=sockets "OMP_PROC_BIND=close OMP_PLACES=cores" "OMP_PROC_BIND=false OMP_PLACES=cores" \
    KMP_AFFINITY=compact "OMP_PROC_BIND=true GOMP_SPINCOUNT=1000 KMP_BLOCKTIME=20us" \
    "OMP_PROC_BIND=true OMP_WAIT_POLICY=passive" OMP_DYNAMIC=true "OMP_NUM_THREADS="; do
    same "threads with $variables" "$(threads_with $variables)" "$cores"
  done
  for variables in OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1 "OMP_PLACES={$first}" "GOMP_CPU_AFFINITY=$first" \
    "OMP_PROC_BIND=true OMP_NUM_THREADS=1" "OMP_PROC_BIND=true taskset -c $first"; do
    same "threads with $variables" "$(threads_with $variables)" 1
  done

  # Every thread of two ranks may run on all cores.
  env -u OMP_NUM_THREADS OMP_PROC_BIND=true "$mpirun" -n 2 $tiny --model bound --after 100000u > bound.log 2>&1 &
  job=$!
  wait_for "two ranks with OMP_PROC_BIND" has_updates bound 2
  same "the cores of the threads of two ranks with OMP_PROC_BIND" \
    "$(for rank in $(pgrep -f -- "^[^ ]*/gyre train .*--model bound "); do cat /proc/"$rank"/task/*/status; done | grep Cpus_allowed_list: | sort -u)" \
    "$(grep Cpus_allowed_list: /proc/$$/status)"
  kill -TERM "$job"
  check "SIGTERM to mpirun.sh ends the job with status 0" wait "$job"
  check "each of two ranks has half of the cores" contains "2 ranks.* : $((cores / 2)) threads? per rank" < bound.log
  check "no core is idle" eval '! contains "ranks of this machine" < bound.log'
  env OMP_PLACES="{$first}" "$mpirun" -n 2 $tiny --model shared --after 1u > shared.log 2>&1
  check "ranks that share a core say so" contains "the 2 ranks of this machine share 1 of its [0-9]+ cores: .*OMP_PLACES" < shared.log
  for variable in OMP_THREAD_LIMIT OMP_NUM_THREADS; do
    env -u OMP_NUM_THREADS $variable=1 $tiny --model "$variable" --after 1u 2> limited.log
    check "$variable is in the log" contains "1 thread per rank" < limited.log
    check "and how to get more" contains "$variable=1 limits this process to 1 thread on $cores cores: unset it" < limited.log
  done
else
  skipped "OpenMP's variables" "one core"
fi

# Signals that ask a job to end: it saves after the current update, which takes three seconds here. mpirun itself kills
# the ranks two seconds after SIGTERM, or twice odls_base_sigkill_timeout.
export GYRE_FAULT="0 3 forward slow" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
declare -A jobs
slow() { # slow RUN COMMAND...: starts a run in directory RUN, by the command if there is one
  local run=$1
  shift
  "$@" $tiny --cpu-threads 1 --after 100000u --optimizer-delay "${delay:-3}" --model "$run" > "$run.log" 2>&1 &
  jobs[$run]=$!
}
signals="INT TERM HUP USR1 USR2 XCPU"
for signal in $signals; do slow "$signal" env; done
slow nohup nohup
slow ranks "$mpirun" -n 2
slow interrupted "$mpirun" -n 2 # this shell starts it with SIGINT ignored
# `env`: in lib.sh, mpirun is a function that starts mpirun.sh.
slow direct env mpirun --oversubscribe -n 2
slow patient env mpirun --oversubscribe -n 2 --mca odls_base_sigkill_timeout 3
delay=30 slow twice env
{ $tiny --cpu-threads 1 --after 100000u --optimizer-delay 3 --model reader 2>&1 || true; } | head -n 1 > reader.log &
for run in "${!jobs[@]}" reader; do wait_for "an update of $run" has_updates "$run" 2; done
reader=$(pgrep -f -- "^[^ ]*/gyre train .*--model reader")
kill -INT "${jobs[twice]}"
sleep 0.5 # a signal that arrives while the same one is pending is lost
for signal in $signals; do kill "-$signal" "${jobs[$signal]}"; done
kill -HUP "${jobs[nohup]}"
kill -TERM "${jobs[ranks]}" "${jobs[direct]}"
kill -INT "${jobs[interrupted]}" "${jobs[patient]}" "${jobs[twice]}" "$reader"
status=0
wait "${jobs[twice]}" || status=$?
same "a second Ctrl-C ends at once" "$status $(ls twice/checkpoints 2> ls.log | wc -l)" "130 0"
ended_by() { # ended_by SIGNAL RUN: the run saved and ended because of the signal
  contains "received SIG$1: the run saves and ends after update" < "$2/train.log" || fail "$2: $(cat "$2/train.log")"
  end_of "$2" | contains 'stopped by a signal' || fail "$2: $(tail -n 1 "$2/metrics.jsonl")"
  [ -e "$2/checkpoints/last/model.safetensors" ] || fail "$2: no checkpoint"
}
for signal in $signals; do
  check "SIG$signal ends with status 0" wait "${jobs[$signal]}"
  ended_by "$signal" "$signal"
done
check "SIGTERM to mpirun.sh ends with status 0" wait "${jobs[ranks]}"
ended_by USR1 ranks
check "SIGINT to mpirun.sh in the background ends with status 0" wait "${jobs[interrupted]}"
ended_by USR1 interrupted
wait "${jobs[direct]}" || true
check "SIGTERM to mpirun: the ranks say what to use" \
  contains "mpirun ends all ranks within two seconds, .* send USR1 to mpirun, or start it by tools/scripts/mpirun.sh" < direct.log
wait "${jobs[patient]}" || true
ended_by TERM patient
echo "ok: mpirun with a longer timeout"
check "nohup ignores SIGHUP" kill -TERM "${jobs[nohup]}"
check "and SIGTERM ends it" wait "${jobs[nohup]}"
ended_by TERM nohup
wait_for "the end of a run whose log nobody reads" eval '[ ! -d "/proc/$reader" ]'
ended_by INT reader
echo "ok: a run whose log nobody reads saves"
unset GYRE_FAULT

# Lines of ranks arrive while the job runs.
mkfifo go
touch lines.txt
"$mpirun" -n 1 bash -c 'echo "a line" >&2; echo -------- >&2; cat go' > stdout.txt 2> lines.txt &
job=$!
wait_for "a line of a rank, before the job ends" contains '^a line$' < lines.txt
echo "the end" > go
wait "$job"
same "all lines of a rank" "$(cat lines.txt)" "$(printf 'a line\n--------')"

# Closed streams: no message gets into a file of the run, and output that cannot be written is an error.
$tiny --model closed --after 2u <&- >&- 2>&-
same "the first characters of metrics.jsonl" "$(cut -c 1 closed/metrics.jsonl | sort -u)" "{"
same ".lock without standard error" "$($tiny --model quiet --after 2u 2>&- && contains ' info ' < quiet/.lock && echo lines)" ""
status=0
"$GYRE" --version >&- 2> stderr.txt || status=$?
same "standard output is closed" "$status $(cat stderr.txt)" "1 gyre: standard output: writing failed"

# A limit of the size of files is a failed write.
status=0
(ulimit -f $(($(stat -c %s vocab.model) / 1024 + 1)) && exec ${tiny/--dim-emb 16/--dim-emb 192} --model small --after 6u --save-freq 2u > small.log 2>&1) || status=$?
same "with ulimit -f" "$status" 1
contains "the checkpoint could not be written" < small.log || fail "ulimit -f: $(cat small.log)"

# Commands of one process under mpirun, and separate processes where ranks are expected.
status=0
"$mpirun" -n 2 "$GYRE" encode --vocab vocab.model --input train.en --output encoded.txt 2> stderr.txt || status=$?
same "mpirun of a command of one process" "$status $(cat stderr.txt)" \
  "2 gyre: gyre encode runs as one process, and mpirun started 2: start it without mpirun; to let each process work alone, unset OMPI_COMM_WORLD_SIZE"
[ ! -e encoded.txt ] || fail "the command has run"
same "each process alone" "$("$mpirun" -n 2 env -u OMPI_COMM_WORLD_SIZE "$GYRE" --version | wc -l)" 2
check "one process" "$mpirun" -n 1 "$GYRE" encode --vocab vocab.model --input train.en --output encoded.txt
for task in 0 3; do
  rejects 2 "^gyre: \[srun\] expected a job of 4 ranks .*of which this is number $task: srun offers no PMI .*srun --mpi=pmix \(srun --mpi=list" \
    env SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=$task $tiny --model srun --after 1u
done
[ ! -e srun ] || fail "a task without PMI made a run"
rejects 2 '^gyre: \[mpiexec\] expected a job of 2 ranks .*another MPI library' env PMI_SIZE=2 PMI_RANK=1 $tiny --model pmi --after 1u
check "a step of one task" env SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 $tiny --model task --after 1u --quiet
