#!/usr/bin/env bash
# Shows that the tests find mistakes: each mutation of a list changes a copy of one source, whose unit is compiled and
# linked with the objects of a build, and some test must fail. The list is cuda.sh for a build with the emulated GPU,
# where the tests run in the order of the calls with an allocation for each tensor, and in the order of seed 1. For any
# other build it is cpu.sh.
#   tests/mutations/test.sh BUILD [TEXT_IN_NAME]
# With BASE=COMMIT, only the mutations whose sources or tests changed since that commit, or all if the emulated GPU or
# the lists did.
# The build folder must contain the test programs, built by make. Sources and objects are those of this build.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
lists=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) only=${2:-}
root=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
kind=cpu
if grep -q '^GYRE_CUDA_EMULATION:BOOL=ON' "$build/CMakeCache.txt"; then kind=cuda; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 GOMP_SPINCOUNT=1000 GYRE_CUDA_POISON=1 GYRE_SEED=1 ASAN_OPTIONS=detect_leaks=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset GYRE_CUDA_EMULATION_SHARED

broken() { # broken MESSAGE: the list or the build does not fit, so that nothing is shown
  echo "BROKEN: $*" >&2
  exit 1
}

program_of() { # program_of OPTIONS: the program with the tests, below the tests of the build
  case $kind/$1 in
    cuda/ranks) echo cuda_emulation/test_cuda_mpi ;;
    cuda/*) echo cuda_emulation/test_cuda ;;
    cpu/ranks) echo mpi/test_mpi ;;
    cpu/*) echo "test_$1" ;;
  esac
}

run_tests() { # run_tests PROGRAM OPTIONS: see the lists
  case $kind/$2 in
    cuda/ops) GYRE_OPS=$3 timeout 120 "$1" --test-case='every op on a GPU*' ;;
    cuda/hopper) GYRE_CUDA_WGMMA=1 GYRE_OPS=$3 timeout 120 "$1" --test-case='every op on a GPU*' ;;
    cuda/nan) GYRE_CUDA_WGMMA=1 GYRE_OPS=$3 timeout 120 "$1" --test-case='attention on a GPU keeps*' ;;
    cuda/core | cuda/train) timeout 120 "$1" --source-file="*/tests/$2/*" --test-case="$3" ;;
    cuda/ranks) GYRE_CUDA_EMULATION_OWN_GPUS=1 LD_LIBRARY_PATH=$build/tests/cuda_emulation timeout 120 \
      mpirun -q --oversubscribe --bind-to none -n 2 "$1" --test-case="$3" ;;
    cpu/ranks) timeout 120 mpirun -q --oversubscribe --bind-to none -n 2 "$1" --test-case="$3" ;;
    cpu/*) timeout 120 "$1" --test-case="$3" ;;
  esac
}

in_every_order() { # in_every_order PROGRAM OPTIONS: fails with the status of the tests if they fail in an order
  if [ "$kind" = cpu ]; then
    run_tests "$@"
  else
    GYRE_CUDA_POOL=0 run_tests "$@" && GYRE_CUDA_EMULATION_SEED=1 run_tests "$@"
  fi
}

timed_out() { [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; } # timed_out STATUS

pass_without_mutation() { # pass_without_mutation OPTIONS: runs the tests only once for all mutations with these options
  local passed
  passed=$work/passed-$(cksum <<< "$*" | tr ' ' -)
  [ -e "$passed" ] ||
    { in_every_order "$build/tests/$(program_of "$@")" "$@" > "$passed.log" 2>&1 && touch "$passed"; } ||
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

# Lines "SOURCE COMMAND" of the compile commands with the unit: a command of its own for each instruction set that its
# library is compiled for, or that of a unity source which includes it.
commands_with() { # commands_with UNIT
  local source command
  sed -nE 's|^ *"command": "(.* -c ([^ ]+))",$|\2 \1|p' "$build/compile_commands.json" |
    while read -r source command; do
    case $source in
      "$build"/tests/*) ;;
      "$root/$1") echo "$source $command" ;;
      "$build"/*/Unity/*) grep -qF "\"$root/$1\"" "$source" && echo "$source $command" ;;
    esac || true
  done
}

# relink_level DIRECTORY COMPILED MUTANT: if COMPILED, a path in the build folder, is linked into the object of an
# instruction set, makes this object with MUTANT in its place. Prints the object for the program.
relink_level() {
  local object line
  object=$(sed -nE 's|^CMakeFiles/(gyre_cpu_[^/]+)[.]dir/.*|\1.o|p' <<< "$2")
  if [ -z "$object" ]; then
    echo "$3"
    return
  fi
  grep -E "^"$'\t'"[^@].* $build/$object( |\$)" "$build/CMakeFiles/gyre_core.dir/build.make" | while read -r line; do
    line=${line//"$build/$object"/"$1/$object"}
    ${line/" $build/$2"/" $3"}
  done
  echo "$1/$object"
}

build_mutant() { # build_mutant DIRECTORY UNIT FILE OLD NEW PROGRAM: makes DIRECTORY/program from that of the build
  local source command copy flags compiled count=0 objects='' name=${6##*/} directory=$build/tests/$6
  if [ "$2" = "$3" ]; then
    mutate "$3" "$4" "$5" "$1/mutant.${3##*.}"
  else
    mutate "$3" "$4" "$5" "$1/include/gyre/$3"
  fi
  commands_with "$2" > "$1/commands.txt"
  [ -s "$1/commands.txt" ] || broken "$build/compile_commands.json has no command for $2"
  while read -r source command; do
    count=$((count + 1))
    copy=$source flags=-w
    if [ "$2" = "$3" ]; then
      copy=$1/mutant.${3##*.}
      if [ "$source" != "$root/$2" ]; then
        sed "s|\"$root/$2\"|\"$copy\"|" "$source" > "$1/unity.cxx"
        copy=$1/unity.cxx
        flags+=' -O1' # such a unit is large, and no test of it takes long
      fi
    fi
    compiled=${command##* -o }
    compiled=${compiled%% *}
    command="${command%% *} -I$1/include ${command#* }"
    (cd "$build" && ${command/ -o * -c */ $flags -o $1/$count.o -c $copy}) >> "$1/build.log" 2>&1 ||
      { cat "$1/build.log" >&2; broken "a mutant of $3 cannot be compiled"; }
    objects+=" $(relink_level "$1" "$compiled" "$1/$count.o")"
  done < "$1/commands.txt"
  (cd "${directory%/*}" && $(sed "s| -o $name |$objects -o $1/program |" "CMakeFiles/$name.dir/link.txt")) \
    >> "$1/build.log" 2>&1 || { cat "$1/build.log" >&2; broken "a mutant of $3 cannot be linked"; }
}

check_mutation() { # check_mutation DIRECTORY NAME UNIT FILE OLD NEW OPTIONS
  local directory=$1 name=$2 status=0
  build_mutant "$directory" "$3" "$4" "$5" "$6" "$(program_of "$7")"
  shift 6
  pass_without_mutation "$@" || broken "the tests of this mutation fail without it: $name"
  in_every_order "$directory/program" "$@" > "$directory/run.log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    echo "NOT FOUND: $name"
    return 1
  fi
  if timed_out "$status"; then broken "the tests of this mutation take too long: $name"; fi
  echo "found: $name: $(grep -m 1 -oE 'cuda emulation: .*|ERROR: .*' "$directory/run.log" | cut -c 1-150)"
}

tests_of() { # tests_of OPTIONS: the folder of the sources of the tests
  case $1 in
    ops | hopper | nan) echo tests/autograd ;;
    ranks) echo tests/mpi ;;
    *) echo "tests/$1" ;;
  esac
}

is_chosen() { # is_chosen UNIT FILE OPTIONS: whether the files of the mutation or its tests changed since BASE
  local sources=("$1" "$2" "$(tests_of "$3")" tests/mutations)
  if [ "$kind" = cuda ]; then sources+=(tests/cuda_emulation); fi
  [ -z "${BASE:-}" ] || ! git -C "$root" diff --quiet "$BASE" -- "${sources[@]}"
}

named=0 count=0
mutation() { # mutation NAME UNIT FILE OLD NEW OPTIONS: checks it in the background, two at a time
  [[ $1 == *$only* ]] || return 0
  named=$((named + 1))
  is_chosen "$2" "$3" "$6" || return 0
  count=$((count + 1))
  mkdir "$work/$count"
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n || true; done
  { check_mutation "$work/$count" "$@" && touch "$work/$count/found"; } &
}

# shellcheck source=tests/mutations/cpu.sh
. "$lists/$kind.sh"
wait
found=$(find "$work" -name found | wc -l)
[ "$named" -gt 0 ] || broken "no mutation has '$only' in its name"
echo "$found of $count mutations are found"
[ "$found" -eq "$count" ]
