#!/usr/bin/env bash
# Shows that the tests on the emulated GPU find mistakes: each mutation of list.sh changes a copy of one source of
# core/cuda, which is compiled and linked with the objects of the build, and some test must fail, in the order of the
# calls with an allocation for each tensor, or in the order of seed 1.
#   tests/cuda_emulation/mutations/test.sh BUILD [TEXT_IN_NAME]
# The build folder must contain test_cuda and test_cuda_mpi, built by make.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=$(cd "$1" && pwd) only=${2:-}
tests=$build/tests/cuda_emulation
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 GYRE_CUDA_POISON=1 GYRE_SEED=1 ASAN_OPTIONS=detect_leaks=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset GYRE_CUDA_EMULATION_SHARED

broken() { # broken MESSAGE: the list or the build does not fit, so that nothing is shown
  echo "BROKEN: $*" >&2
  exit 1
}

compile_command() { # compile_command UNIT: the command of the build, from compile_commands.json
  sed -nE "s|^ *\"command\": \"(.* -c [^ ]*/$1)\",\$|\1|p" "$build/compile_commands.json" | head -n 1
}

program_of() { # program_of OPTIONS: the program with the tests
  if [ "$1" = ranks ]; then echo test_cuda_mpi; else echo test_cuda; fi
}

run_tests() { # run_tests PROGRAM ops TEXT | core TEST_CASE | train TEST_CASE | ranks TEST_CASE
  case $2 in
    ops) GYRE_OPS=$3 timeout 120 "$1" --test-case='every op on a GPU*' ;;
    core | train) timeout 120 "$1" --source-file="*/tests/$2/*" --test-case="$3" ;;
    ranks) GYRE_CUDA_EMULATION_OWN_GPUS=1 LD_LIBRARY_PATH=$tests timeout 120 \
      mpirun -q --oversubscribe --bind-to none -n 2 "$1" --test-case="$3" ;;
  esac
}

in_both_orders() { # in_both_orders PROGRAM OPTIONS: fails with the status of the tests if they fail in an order
  GYRE_CUDA_POOL=0 run_tests "$@" && GYRE_CUDA_EMULATION_SEED=1 run_tests "$@"
}

timed_out() { [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; } # timed_out STATUS

pass_without_mutation() { # pass_without_mutation OPTIONS: runs the tests only once for all mutations with these options
  local passed
  passed=$work/passed-$(cksum <<< "$*" | tr ' ' -)
  [ -e "$passed" ] || { in_both_orders "$tests/$(program_of "$@")" "$@" > "$passed.log" 2>&1 && touch "$passed"; } ||
    { cat "$passed.log" >&2; return 1; }
}

mutate() { # mutate FILE OLD NEW TO: writes the changed file
  local text rest
  text=$(cat "$root/$1")
  rest=${text//"$2"/}
  [ $((${#text} - ${#rest})) -eq ${#2} ] || broken "the text of the mutation must occur once in $1: $2"
  mkdir -p "$(dirname "$4")"
  printf '%s\n' "${text/"$2"/"$3"}" > "$4"
}

build_mutant() { # build_mutant DIRECTORY UNIT FILE OLD NEW PROGRAM: makes DIRECTORY/program from that of the build
  local command source=$root/$2 program=$6
  command=$(compile_command "$2")
  [ -n "$command" ] || broken "$build/compile_commands.json has no command for $2"
  if [ "$2" = "$3" ]; then
    source=$1/mutant.cu
    mutate "$3" "$4" "$5" "$source"
  else
    mutate "$3" "$4" "$5" "$1/include/gyre/$3"
  fi
  command="${command%% *} -I$1/include ${command#* }"
  (cd "$build" && ${command/ -o * -c */ -o $1/mutant.o -c $source}) > "$1/build.log" 2>&1 &&
    (cd "$tests" && $(sed "s| -o $program | $1/mutant.o -o $1/program |" "CMakeFiles/$program.dir/link.txt")) \
      >> "$1/build.log" 2>&1 || { cat "$1/build.log" >&2; broken "a mutant of $3 cannot be built"; }
}

check_mutation() { # check_mutation DIRECTORY NAME UNIT FILE OLD NEW OPTIONS
  local directory=$1 name=$2 status=0
  build_mutant "$directory" "$3" "$4" "$5" "$6" "$(program_of "$7")"
  shift 6
  pass_without_mutation "$@" || broken "the tests of this mutation fail without it: $name"
  in_both_orders "$directory/program" "$@" > "$directory/run.log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    echo "NOT FOUND: $name"
    return 1
  fi
  if timed_out "$status"; then broken "the tests of this mutation take too long: $name"; fi
  echo "found: $name: $(grep -m 1 -oE 'cuda emulation: .*|ERROR: .*' "$directory/run.log" | cut -c 1-150)"
}

count=0
mutation() { # mutation NAME UNIT FILE OLD NEW OPTIONS: checks it in the background, two at a time
  [[ $1 == *$only* ]] || return 0
  count=$((count + 1))
  mkdir "$work/$count"
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
  { check_mutation "$work/$count" "$@" && touch "$work/$count/found"; } &
}

for program in test_cuda test_cuda_mpi; do
  [ -x "$tests/$program" ] || broken "$tests/$program is missing"
done
# shellcheck source=tests/cuda_emulation/mutations/list.sh
. "$root/tests/cuda_emulation/mutations/list.sh"
wait
found=$(find "$work" -name found | wc -l)
[ "$count" -gt 0 ] || broken "no mutation has '$only' in its name"
echo "$found of $count mutations are found"
[ "$found" -eq "$count" ]
