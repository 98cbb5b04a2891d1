#!/usr/bin/env bash
# Parses the source files named on standard input, each with its first command in COMPILE_COMMANDS, a compile_commands.json
# without precompiled headers: an include that is missing is an error. Fails if no file has a command. Files of other
# builds, such as the tests on the emulated GPU, have none.
#   tools/scripts/check_includes.sh COMPILE_COMMANDS JOBS < FILES
set -euo pipefail
[ $# -eq 2 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
database=$1 jobs=$2 root=$(pwd -P)
parsed=$(mktemp)
trap 'rm -f "$parsed"' EXIT

parse() { # parse DATABASE FILE
  local command
  command=$(sed -nE "s|^ *\"command\": \"(.*) -o [^ ]* -c $2\",\$|\1|p" "$1" | head -n 1 | sed -E 's/\\(["\\])/\1/g')
  [ -n "$command" ] || return 0
  echo "$2" >> "$3"
  eval "$command -fsyntax-only $2"
}
export -f parse
files=$(sed "/^$/d; s|^|$root/|") # an empty list arrives as one empty line
xargs -r -P "$jobs" -I FILE bash -c 'parse "$1" "$2" "$3"' parse "$(realpath "$database")" FILE "$parsed" <<< "$files"
[ -z "$files" ] || [ -s "$parsed" ] || { echo "error: no file has a command in $database" >&2; exit 1; }
