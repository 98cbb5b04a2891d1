#!/usr/bin/env bash
# Tests the cross build for 64-bit ARM (make aarch64) under QEMU: kernels, the op table, and trainings of ten updates,
# whose losses are those of this machine's program. AARCH64_BUILD: another build folder.
. "$(dirname "$0")/lib.sh"
build=${AARCH64_BUILD:-$ROOT/build-aarch64}
sysroot=$(sed -n 's/^CMAKE_SYSROOT:PATH=//p' "$build/CMakeCache.txt" 2> /dev/null || true)
command -v qemu-aarch64 > /dev/null || skip_test "qemu-aarch64 is not installed: make aarch64 installs it"
[ -e "$build/built" ] || skip_test "there is no build for ARM: run make aarch64"
newer=$(cd "$ROOT" && find core autograd models data train tools tests \( -name '*.cpp' -o -name '*.h' \) -newer "$build/built" -print -quit)
[ -z "$newer" ] || skip_test "the build for ARM is older than $newer: run make aarch64"
[ "$(uname -m)" != aarch64 ] || skip_test "this machine is an ARM machine, where every test runs natively"
started=$SECONDS

on() { # on CPU PROGRAM ARGUMENTS..: runs a program of the ARM build
  local cpu=$1 program=$2
  shift 2
  qemu-aarch64 -cpu "$cpu" -L "$sysroot" "$build/$program" "$@"
}
arm() { on max gyre "$@"; }

# Both levels of kernels are selected by what the CPU has: Cortex-A72 lacks bf16.
fact() { on "$1" gyre --build-info | sed -n "s/^$2: //p"; }
same "the kernels of a CPU with bf16" "$(fact max 'CPU kernels available')" "cpu_armv8, cpu_armv8_bf16"
same "the kernels of a CPU without" "$(fact cortex-a72 'CPU kernels available')" "cpu_armv8"
same "the CPU has bf16" "$(fact max 'CPU has FEAT_BF16') $(fact cortex-a72 'CPU has FEAT_BF16')" "yes no"

unit_tests() { # unit_tests CPU PROGRAM OPTIONS..: prints what was skipped and covered, for the report
  local name="$2 on $1"
  on "$1" "tests/$2" "${@:3}" > unit.txt 2>&1 || { tail -n 60 unit.txt >&2; fail "$name"; }
  grep -E '^(skipped|covered): ' unit.txt | sed "s/^\(skipped\|covered\): /\1: $name: /" || true
  echo "ok: $name: $(tail -n 1 unit.txt)"
}
unit_tests max test_core --test-case-exclude='rates of multiply-adds*,measured limits*'
# Finite differences check the formulas, which they do natively; under QEMU they would take most of the time.
unit_tests max test_autograd --test-case-exclude='every op agrees with finite differences'
unit_tests cortex-a72 test_core --source-file='*/kernels_test.cpp,*/bf16_dot_test.cpp'
unit_tests cortex-a72 test_autograd --test-case='every op agrees with its *,bf16: kernels without*'

# Data and vocabularies have the same bytes.
data() { # data FOLDER
  mkdir -p "$1/books"
  (cd "$1" && small_corpus && cd books && small_books && mv books.tok books.txt vocab.txt ..)
}
data x86
(GYRE=arm && data arm)
for file in train.en train.de vocab.model vocab.txt books.tok; do
  check "$file is the same on both" cmp "x86/$file" "arm/$file"
done
cd x86

# Ten updates of translation, a masked and a causal language model.
options="--after 10u --disp-freq 1u --quiet --precision fp32 --cpu-threads 1"
tiny="--dim-emb 32 --transformer-heads 2 --transformer-dim-ffn 64"
train() { # train PROGRAM TASK RUN OPTIONS..
  local program=$1 task=$2 run=$3
  shift 3
  case $task in
    nmt) set -- nmt --train-sets train.en train.de --vocab vocab.model --enc-depth 2 --dec-depth 2 --mini-batch-words 400 "$@" ;;
    mlm) set -- mlm --train-sets books.tok --vocab vocab.txt --preset roformer-mini --layers 2 --mini-batch 16 --max-length 64 "$@" ;;
    lm) set -- lm --train-sets books.txt --vocab vocab.txt --preset llama-tiny --layers 2 --mini-batch 8 --max-length 64 "$@" ;;
  esac
  $program train "$1" $options $tiny "${@:2}" --model "$run" || fail "training of $run"
}
losses() { sed -n 's/.*"event":"train".*"loss":\([0-9.e+-]*\).*/\1/p' "$1/metrics.jsonl"; }
difference() { # the largest relative difference of the losses of two runs; fails unless both have ten
  paste <(losses "$1") <(losses "$2") | awk '{ d = $1 / $2 - 1; if (d < 0) d = -d; if (d > max) max = d }
    END { if (NR != 10 || $1 == "" || $2 == "") exit 1; printf "%.1e", max }' || fail "the losses of $1 and $2"
}
close() { # close WHAT RUN RUN BOUND
  local by
  by=$(difference "$2" "$3")
  awk -v by="$by" -v bound="$4" 'BEGIN { exit !(by <= bound) }' || fail "$1: the losses differ by $by"
  echo "covered: $1 on ARM under QEMU: the losses of ten updates differ by at most $by from those on x86-64"
}
weights() { cat "$1/checkpoints/last/model.safetensors" "$1/checkpoints/last/optimizer.safetensors"; }
equal() { check "$1" cmp <(weights "$2") <(weights "$3"); }

for task in nmt mlm lm; do
  train "$GYRE" $task x86-$task
  train arm $task arm-$task
  close "$task" arm-$task x86-$task 1e-5
done
same "products call OpenBLAS" "$(grep -c 'kernels": "cpu_armv8_bf16 with OpenBLAS' arm-lm/checkpoints/last/state.json)" 2

# The threads do not change the bits, with OpenBLAS and without.
train arm nmt two-threads --cpu-threads 2
equal "the same bits with two threads" two-threads arm-nmt
# Deterministic runs have the same bits on every CPU; they do not call OpenBLAS.
train "$GYRE" nmt x86-deterministic --deterministic
train arm nmt deterministic --deterministic
close "nmt, deterministic" deterministic x86-deterministic 1e-5
for cpu in cortex-a72 neoverse-n1; do
  train "on $cpu gyre" nmt on-$cpu --deterministic
  equal "the same bits on $cpu" on-$cpu deterministic
done

# bf16: the products of BFMMLA, and their rejection.
train arm nmt arm-bf16 --precision bf16
close "nmt in bf16 (of fp32)" arm-bf16 x86-nmt 1e-2
rejects 2 'bf16 needs a CPU with FEAT_BF16, which this one lacks' on cortex-a72 gyre train nmt --train-sets train.en train.de \
  --vocab vocab.model --model refused --after 1u --precision bf16

# A model trained on one architecture translates to the same text on the other.
check "the same translations" cmp <("$GYRE" translate --model x86-nmt --beam-size 2 < test.en) \
  <(arm translate --model x86-nmt --beam-size 2 < test.en)
echo "ARM under QEMU: $(((SECONDS - started + 30) / 60)) min"
