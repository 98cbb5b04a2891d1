#!/usr/bin/env bash
# Runs mpirun on one machine. Works as root (containers) and with more ranks than cores, does not bind ranks to cores
# (their threads need them), and makes a rank's error the last line of the output.
#   tools/scripts/mpirun.sh -n 2 COMMAND...
# A signal that asks the job to end (Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU) lets gyre train save after the
# current update and end with status 0: mpirun passes SIGUSR1 on and waits. On SIGTERM or SIGINT it would kill the ranks
# two seconds later. A second Ctrl-C does.
set -uo pipefail

# A shell without job control starts commands in the background with SIGINT ignored, which bash cannot trap.
[[ -z $(trap -p INT) ]] || exec env --default-signal=INT "$BASH" "$0" "$@"

[[ $(mpirun --version 2> /dev/null) == *"Open MPI"* ]] || exec mpirun "$@"

if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Filters the notices of Open MPI, which are enclosed by lines of dashes. Notices that a rank failed would hide the
# rank's own error, so they are dropped, except that a signal ended a rank, which only mpirun reports. (--quiet would
# drop both.) Also drops mpirun's report of a notice that the end of the job has cut off. The shell reads line by line,
# so that a line arrives at once; Debian's awk would wait for a block of 4 KiB. Lines that the reader of the output no
# longer takes are lost; they must not end the job.
filter_notices() {
  trap '' INT TERM HUP USR1 USR2 XCPU PIPE # until mpirun has ended
  local LC_ALL=C line inside='' is_other='' notice=()
  end_notice() {
    for line in "${notice[@]}"; do
      [[ -n $is_other || $line == *"exited on signal"* ]] && printf '%s\n' "$line"
    done
    notice=()
  }
  while IFS= read -r line || [ -n "$line" ]; do
    if [ ${#line} -gt 70 ] && [[ -z ${line//-/} ]]; then
      if [ -n "$inside" ]; then end_notice && inside=''; else inside=yes is_other=yes; fi
    elif [ -n "$inside" ]; then
      notice+=("$line")
      [[ $line =~ ^(Primary\ job\ +terminated|MPI_ABORT\ was\ invoked|mpirun\ (detected|noticed)\ that) ]] && is_other=''
    elif [[ $line != "mpirun: Forwarding signal"* && $line != *ORTE_ERROR_LOG:*show_help.c\ * ]]; then
      printf '%s\n' "$line"
    fi
  done
  end_notice
} 2> /dev/null

job='' signaled='' stopping=''
# stop SIGNAL: lets the ranks save and end
stop() {
  signaled=yes
  if [ "$stopping" = INT ] && [ "$1" = INT ]; then
    kill -TERM "$job" 2> /dev/null
  else
    [ "$1" != INT ] || echo "mpirun.sh: Ctrl-C: gyre train saves and ends after its update; a second Ctrl-C ends it at once" >&2
    [ -z "$job" ] || kill -USR1 "$job" 2> /dev/null
  fi
  stopping=$1
}
# shellcheck disable=SC2064
for signal in INT TERM HUP USR1 USR2 XCPU; do trap "stop $signal" "$signal"; done

exec {notices}> >(filter_notices >&2)
filter=$!
# In a session of its own, mpirun does not get the Ctrl-C of the terminal.
setsid mpirun --oversubscribe --bind-to none "$@" <&0 2>&"$notices" {notices}>&- &
job=$!
exec {notices}>&-
[ -z "$stopping" ] || stop "$stopping" # a signal came before there was a job

status=0 signaled=yes
while [ -n "$signaled" ]; do # a signal interrupts wait before the job has ended
  signaled=''
  wait "$job"
  status=$?
done
while kill -0 "$filter" 2> /dev/null; do wait "$filter"; done
exit "$status"
