#!/usr/bin/env bash
# Runs mpirun on one machine. Works as root (containers) and with more ranks than cores, does not bind ranks to cores
# (their threads need them), and makes a rank's error the last line of the output. Forwards SIGTERM, SIGINT and SIGUSR1
# to mpirun.
#   tools/scripts/mpirun.sh -n 2 COMMAND...
set -uo pipefail

[[ $(mpirun --version 2> /dev/null) == *"Open MPI"* ]] || exec mpirun "$@"

if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Filters the notices of Open MPI, which are enclosed by lines of dashes. Notices that a rank failed would hide the
# rank's own error, so they are dropped, except that a signal ended a rank, which only mpirun reports. (--quiet would
# drop both.) Also drops mpirun's report of a notice that the end of the job has cut off.
filter_notices() {
  awk '
    function end_notice(  i) {
      for (i = 1; i <= count; ++i)
        if (is_other ? 1 : line[i] ~ /exited on signal/) print line[i]
      count = 0
      fflush()
    }
    /^-+$/ && length($0) > 70 { if (inside) end_notice(); inside = !inside; is_other = 1; next }
    inside { line[++count] = $0; if (/^Primary job +terminated|^MPI_ABORT was invoked|^mpirun (detected|noticed) that/) is_other = 0; next }
    !/^mpirun: Forwarding signal|ORTE_ERROR_LOG: .*show_help\.c / { print; fflush() }
    END { end_notice() }'
}

exec {notices}> >(filter_notices >&2)
filter=$!
mpirun --oversubscribe --bind-to none "$@" <&0 2>&"$notices" {notices}>&- &
job=$!
exec {notices}>&-
pass_on() { kill "-$1" "$job" 2> /dev/null; signaled=yes; }
trap 'pass_on TERM' TERM
trap 'pass_on USR1' USR1
# On Ctrl-C a terminal signals mpirun directly.
if [ -t 0 ]; then trap signaled=yes INT; else trap 'pass_on INT' INT; fi

status=0 signaled=yes
while [ -n "$signaled" ]; do # a signal interrupts wait before the job has ended
  signaled=''
  wait "$job"
  status=$?
done
wait "$filter"
exit "$status"
