# For the scripts that make ranks fail: tests/mpi/lib.sh, a deterministic run on two ranks, and what must hold after a
# fault. REPEAT=3 does everything three times; one line "outcome: ..." for each fault.
. "$(dirname "${BASH_SOURCE[0]}")/../mpi/lib.sh"
repeat=${REPEAT:-1}
last=12  # updates
broken=$work/broken  # by its whole name no other test has it
options="--deterministic --after ${last}u --save-freq 4u --keep-last 0 --ema 0.9 --valid-sets val.en val.de
  --valid-metrics cross-entropy --valid-freq 4u --early-stopping 9 --quiet"

# A run into directory $1, to its end; further options follow.
train() {
  local run=$1
  shift
  mpirun -n 2 $(rank_of "$run" $options "$@")
}

# The same, with a rank 1 that is slow enough for something to be done to the run meanwhile.
slow() { GYRE_FAULT="1 1 data slow" "$ROOT/tools/scripts/mpirun.sh" -n 2 $(rank_of "$@"); }

outcome() { echo "outcome: $*, resumed to the same bits"; }

train straight

gone() { # gone RUN: no process works in that directory, a moment after
  local tries
  for tries in $(seq 250); do
    pgrep -f -- "--model $1 " > gone.txt || return 0
    sleep 0.02
  done
  return 1
}

# Does what a fault leaves hold? After it no process is left, every checkpoint is whole, and the run goes on to the bits
# of one that had no fault.
recovers() { # recovers WHAT RUN
  local checkpoint
  gone "$2" || fail "$1: processes are left: $(pgrep -af -- "--model $2 ")"
  for checkpoint in "$2"/checkpoints/step-*; do
    [ ! -e "$checkpoint" ] || "$GYRE" checkpoint verify --model "$checkpoint" > verify.log 2>&1 || fail "$1: $checkpoint is broken"
  done
  train "$2"
  same_run "$1" "$2" straight
}

# fault WHAT STATUS PATTERN SECONDS "RANK UPDATE POINT ACTION" OPTION...: a run with that fault ends within the time and
# with the status ("0", or "not 0"), says a line that matches, and recovers.
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
