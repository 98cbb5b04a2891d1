#!/usr/bin/env bash
# mpirun on one machine, as every script here calls it: works as root (containers) and with more ranks than cores, leaves
# the cores of a rank to its threads, and lets a rank's error be the last line shown.
#   tools/scripts/mpirun.sh -n 2 COMMAND...
set -euo pipefail

options=()
if [[ $(mpirun --version 2> /dev/null) == *"Open MPI"* ]]; then
  options=(--quiet --oversubscribe --bind-to none)
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
fi
exec mpirun "${options[@]}" "$@"
