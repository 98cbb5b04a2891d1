#!/usr/bin/env bash
# Runs a command with its output in a file, and shows a progress line instead. If the command fails, prints the errors or
# the end of the output, and names the file. V=1 in the environment shows all output.
#   tools/scripts/quiet.sh LABEL LOG COMMAND...
set -uo pipefail
label=$1 log=$2
shift 2
[ "${V:-0}" != 0 ] && exec "$@"

mkdir -p "$(dirname "$log")"
started=$SECONDS
"$@" <&0 > "$log" 2>&1 &
command=$!
trap 'kill "$command" 2> /dev/null; wait "$command"; exit 130' INT TERM

seconds() { printf '%d:%02d' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)); }
percent() { tail -n 20 "$log" | grep -oE '^\[ *[0-9]+%\]' | tail -n 1 | tr -dc '0-9'; } # as make and cmake print it
if [ -t 1 ]; then
  while kill -0 "$command" 2> /dev/null; do
    done=$(percent)
    printf '\r\033[K%s %s%s' "$label" "${done:+$done %, }" "$(seconds)"
    sleep 1
  done
  printf '\r\033[K'
fi
status=0
wait "$command" || status=$?
if [ "$status" -ne 0 ]; then
  grep -nE '(^|[^a-z])(error|Error|E):|undefined reference' "$log" | head -n 20 | grep . || tail -n 20 "$log"
  echo "$label failed after $(seconds) (status $status); the full output is in $log" >&2
  exit "$status"
fi
# Silent where nothing was to be done.
[ $((SECONDS - started)) -ge 3 ] && echo "$label $(seconds)"
exit 0
