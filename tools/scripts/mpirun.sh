#!/usr/bin/env bash
# mpirun on one machine, as every script here calls it: it works as root (containers) and with more ranks than cores,
# leaves the cores of a rank to its threads, and lets a rank's error be the last line shown. SIGTERM, SIGINT and SIGUSR1
# are passed on to mpirun.
#   tools/scripts/mpirun.sh -n 2 COMMAND...
set -uo pipefail

[[ $(mpirun --version 2> /dev/null) == *"Open MPI"* ]] || exec mpirun "$@"

if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Open MPI puts its notices between lines of dashes. Those that only say that a rank failed would hide the rank's own
# error, but nobody else knows that a signal ended a rank. (--quiet would drop both.) mpirun also reports a notice that the
# end of the job has cut off.
only_news() {
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

exec {notices}> >(only_news >&2)
filter=$!
mpirun --oversubscribe --bind-to none "$@" <&0 2>&"$notices" {notices}>&- &
job=$!
exec {notices}>&-
pass_on() { kill "-$1" "$job" 2> /dev/null; signaled=yes; }
trap 'pass_on TERM' TERM
trap 'pass_on USR1' USR1
# A terminal sends Ctrl-C to mpirun itself.
if [ -t 0 ]; then trap signaled=yes INT; else trap 'pass_on INT' INT; fi

status=0 signaled=yes
while [ -n "$signaled" ]; do # a signal ends a wait before its job
  signaled=''
  wait "$job"
  status=$?
done
wait "$filter"
exit "$status"
