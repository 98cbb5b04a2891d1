# Library of the fault tests: tests/mpi/lib.sh, a deterministic run on two ranks, and the checks after a fault. Every
# fault prints one line "outcome: ...". REPEAT=3 repeats each fault three times.
. "$(dirname "${BASH_SOURCE[0]}")/../mpi/lib.sh"
repeat=${REPEAT:-1}
last=12  # updates
broken=$work/broken  # an absolute path, unique among all tests
options="--deterministic --after ${last}u --save-freq 4u --keep-last 0 --ema 0.9 --valid-sets val.en val.de
  --valid-metrics cross-entropy --valid-freq 4u --early-stopping 9 --quiet"

# Trains a complete run in directory $1; further arguments are options.
train() {
  local run=$1
  shift
  mpirun -n 2 $(rank_of "$run" $options "$@")
}

# The same with a slow rank 1, which leaves time to interfere with the run.
slow() { GYRE_FAULT="1 1 data slow" "$ROOT/tools/scripts/mpirun.sh" -n 2 $(rank_of "$@"); }

outcome() { echo "outcome: $*, resumed to the same bits"; }

train straight

# wait_until_gone RUN: waits until no process uses that run directory; fails after a few seconds.
wait_until_gone() {
  local tries
  for tries in $(seq 250); do
    pgrep -f -- "--model $1 " > gone.txt || return 0
    sleep 0.02
  done
  return 1
}

# Checks the state after a fault: no process is left, every checkpoint is valid, and the resumed run ends with the same
# bits as a run without faults.
recovers() { # recovers WHAT RUN
  local checkpoint
  wait_until_gone "$2" || fail "$1: processes still run: $(pgrep -af -- "--model $2 ")"
  for checkpoint in "$2"/checkpoints/step-*; do
    [ ! -e "$checkpoint" ] || "$GYRE" checkpoint verify --model "$checkpoint" > verify.log 2>&1 || fail "$1: $checkpoint is broken"
  done
  train "$2"
  same_run "$1" "$2" straight
}

# fault WHAT STATUS PATTERN SECONDS "RANK UPDATE POINT ACTION" OPTION...: a run with that fault ends within SECONDS with
# the exit status ("0" or "not 0"), logs a line that matches PATTERN, and recovers.
fault() {
  local what=$1 wanted=$2 pattern=$3 most=$4 plan=$5 i status began seconds longest=0
  shift 5
  for i in $(seq "$repeat"); do
    rm -rf "$broken"
    status=0 began=$(date +%s%N)
    GYRE_FAULT=$plan timeout 120 "$ROOT/tools/scripts/mpirun.sh" -n 2 $(rank_of "$broken" $options "$@") > job.log 2>&1 || status=$?
    seconds=$((($(date +%s%N) - began) / 1000000))
    [ "$seconds" -le "$longest" ] || longest=$seconds
    if [ "$wanted" = 0 ]; then [ "$status" -eq 0 ]; else [ "$status" -ne 0 ]; fi || { cat job.log >&2; fail "$what: status $status"; }
    [ "$seconds" -le $((most * 1000)) ] || { cat job.log >&2; fail "$what: took $seconds ms"; }
    [ -z "$pattern" ] || grep -qE -- "$pattern" job.log || { cat job.log >&2; fail "$what: no line like /$pattern/"; }
    recovers "$what" "$broken"
  done
  echo "outcome: $what: status $status, at most $longest ms, resumed to the same bits ($repeat times)"
}
