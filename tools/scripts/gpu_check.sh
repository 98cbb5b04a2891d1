#!/usr/bin/env bash
# Checks Gyre on a machine with a GPU: first the facts of the machine, the CUDA tests, gradients and reproducible bits;
# then compute-sanitizer; then speed in comparison with the prediction of gyre plan, PyTorch and the machine's limits;
# then whole trainings. Each part has its own time limit, and the report is complete up to the part that ran last.
#   tools/scripts/gpu_check.sh [--quick 1|2] [--minutes N] [--limit-scale X] [--output DIR] [--device cuda:N] [--data DIR] [--only REGEX]
# The program is GYRE, with its tests in the folder TESTS; else the bundle that contains this script; else the build of
# 'make cuda'. PYTHON (python3) may have torch. DIR (default gpu-check) gets report.md, report.jsonl and log, updated
# after each part. --only selects parts by name, --limit-scale multiplies their time limits, --minutes limits all of them
# together. --data: a folder with Multi30k (see multi30k.sh). --quick: for a machine that is at hand for a quarter of an
# hour, the most telling parts in two halves of at most eight minutes. Exit status 1: no GPU, or a part about correctness
# failed.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
quick='' minutes=40 scale=1 out=gpu-check device=cuda data=$root/../shared/data/multi30k only=.
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=$2 ;;
    --minutes) minutes=$2 ;;
    --limit-scale) scale=$2 ;;
    --output) out=$2 ;;
    --device) device=$2 ;;
    --data) data=$2 ;;
    --only) only=$2 ;;
    *) sed -n '5s/^# *//p' "$0" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $quick =~ ^[12]?$ ]] || { echo "gpu-check: --quick: expected 1 or 2, got $quick" >&2; exit 2; }
deadline=$((SECONDS + minutes * 60))
scale=$(awk -v x="$scale" 'BEGIN { printf "%d", 100 * x }') # in percent
bar=97 # minimum exact match in percent, on held-out sentences of the synthetic corpus
mlm_share=0.65 # maximum loss after 300 updates of a masked language model, relative to the initial loss
python=${PYTHON:-python3}

die() { echo "gpu-check: $*" >&2; exit 1; }

# --- the program ---

machine_has_gpu() { nvidia-smi -L 2> /dev/null | grep -q '^GPU' || compgen -G '/dev/nvidia[0-9]*' > /dev/null || [ -e /dev/dxg ]; }

gyre=${GYRE:-} tests=${TESTS:-}
if [ -z "$gyre" ] && [ -x "$root/libexec/gyre" ]; then
  gyre=$root/bin/gyre tests=${tests:-$root/bin}
elif [ -z "$gyre" ]; then
  if machine_has_gpu; then
    make --no-print-directory -C "$root" cuda >&2 ||
      die "the build failed; install the missing packages, unpack a bundle ('make bundle' elsewhere), or set GYRE and TESTS"
    deadline=$((SECONDS + minutes * 60))
  fi
  gyre=$root/build-cuda/gyre tests=${tests:-$root/build-cuda/tests}
  [ -x "$gyre" ] || die "expected a GPU, got none: nvidia-smi lists none, and there is no /dev/nvidia*"
fi

# shellcheck source=tools/scripts/gpu_check_report.sh
. "$root/tools/scripts/gpu_check_report.sh"

machine_facts() {
  local build_info problem rc=0
  build_info=$(within "$gyre" --build-info) || { say "$gyre does not run: $(tail -n 1 "$work/log")"; exit 1; }
  detail "$(within nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv 2>&1 | sed 's/^/    /' || true)"
  # shellcheck disable=SC2001
  detail "$(sed 's/^/    /' <<< "$build_info")"
  detail "    $(uname -srm), $(nproc) cores, $(awk '/MemTotal/ { printf "%.0f GB", $2 / 1e6 }' /proc/meminfo)"
  detail "    $(within "$python" -c 'import torch; print("torch", torch.__version__, torch.cuda.is_available())' 2>&1 | tail -n 1)"
  problem=$(within "$gyre" gradcheck --op add --device "$device" 2>&1) || rc=$?
  [ $rc -ne 124 ] || { say "gyre does not answer on $device"; exit 124; }
  [ $rc -le 1 ] || { say "expected a GPU that gyre can use, got none: $(tail -n 1 <<< "$problem")"; exit 1; }
  say "$("$gyre" --version): $(sed -n 's/^CUDA: //p' <<< "$build_info")"
}

# --- correctness ---

have_tests() { [ -x "${tests:-/none}/test_autograd" ] || cannot "no test programs; set TESTS to their folder"; }

cuda_tests() {
  have_tests
  local program cases total=0 failed=0
  export GYRE_SEED=$SRANDOM OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  for program in "$tests"/test_{core,autograd,models,train,mpi}; do
    [ -x "$program" ] || continue
    echo "-- $program, GYRE_SEED=$GYRE_SEED"
    case $program in
      *_mpi) within "$program" --test-case='*GPU*' > "$work/doctest" || failed=$? ;;
      *) within "$program" --source-file='*cuda_test*' > "$work/doctest" || failed=$? ;;
    esac
    cat "$work/doctest"
    [ $failed -ne 124 ] || exit 124
    ! grep -q '^skipped: .*: no GPU' "$work/doctest" || { say "$(basename "$program") found no GPU"; exit 1; }
    cases=$(grep -oE 'test cases: +[0-9]+' "$work/doctest" | grep -oE '[0-9]+$' || echo 0)
    total=$((total + cases))
  done
  say "$total tests of the CUDA backend, GYRE_SEED=$GYRE_SEED"
  [ "$total" -gt 0 ] || { say "the test programs have no tests of the CUDA backend"; exit 1; }
  return $failed
}

poisoned_tests() { # new memory holds NaN, so that a kernel that reads what nobody wrote gives a wrong result
  export GYRE_CUDA_POISON=1
  cuda_tests
}

core_tests() { # core_tests NAMES: the tests of the core library with these names
  have_tests
  within "$tests/test_core" --test-case="$1" > "$work/doctest" || { cat "$work/doctest"; exit 1; }
  cat "$work/doctest"
  ! grep '^skipped: ' "$work/doctest" || cannot "$(grep -m 1 '^skipped: ' "$work/doctest")"
  say "$(grep -oE 'NCCL [0-9.]+' "$work/doctest" | head -n 1), $(grep -oE '[0-9]+ passed' "$work/doctest" | head -n 1)"
}

hopper_table() { # the instructions of compute capability 9.0 one by one, before any kernel that uses them
  [ -x "${tests:-/none}/test_hopper" ] || cannot "no program test_hopper; set TESTS to its folder"
  within "$tests/test_hopper" > "$work/doctest" || { cat "$work/doctest"; exit 1; }
  cat "$work/doctest"
  ! grep '^skipped: ' "$work/doctest" || cannot "$(grep -m 1 '^skipped: ' "$work/doctest")"
  touch "$work/hopper"
  say "the table of instructions: $(grep -oE '[0-9]+ passed' "$work/doctest" | tail -n 1)"
}

with_hopper() { # with_hopper PART...: a part with the kernels that use these instructions, which are off otherwise
  [ -e "$work/hopper" ] || cannot "the part hopper-table has not passed"
  export GYRE_CUDA_WGMMA=1
  "$@"
}

op_rows() { # op_rows TEXT: the rows of the op table with this text in their names
  have_tests
  GYRE_OPS=$1 within "$tests/test_autograd" --test-case='every op on a GPU*' > "$work/doctest" || { cat "$work/doctest"; exit 1; }
  cat "$work/doctest"
  say "the rows $1 of the op table: $(grep -oE '[0-9]+ passed' "$work/doctest" | head -n 1)"
}

gradients() {
  local rc=0
  within "$gyre" gradcheck --device "$device" > "$work/gradcheck" || rc=$?
  cat "$work/gradcheck"
  say "f64 finite differences: $(tail -n 1 "$work/gradcheck")"
  return $rc
}

corpus() { # creates the corpus in $work, once
  [ -e "$work/vocab.model" ] && return
  within "$gyre" data generate --output "$work" --seed 1 --train 200000 --val 300 --test 500
  within "$gyre" vocab --input "$work/train.en" "$work/train.de" --type unigram --size 1500 --sample-lines 20000 \
    --character-coverage 1 --output "$work/vocab.model"
}

train() { # train DIRECTORY OPTIONS...
  local run=$1
  shift
  within "$gyre" train nmt --config "$root/tools/recipes/demo.toml" --device "$device" --train-sets "$work/train.en" \
    "$work/train.de" --valid-sets "$work/val.en" "$work/val.de" --vocab "$work/vocab.model" --model "$run" "$@"
}

same_checkpoints() { # same_checkpoints RUN UPDATES: compares RUN-one and RUN-two in $work
  local file
  for file in model optimizer; do
    cmp "$work/$1"-{one,two}/checkpoints/step-"$(printf %08d "$2")"/$file.safetensors ||
      { say "$1: $file.safetensors differs"; exit 1; }
  done
}

same_bits() {
  corpus
  local run precision
  for precision in fp32 bf16; do
    for run in one two; do
      train "$work/$precision-$run" --precision $precision --lr-warmup 10 --after 30u --save-freq 30u --valid-freq 1000u
    done
    same_checkpoints $precision 30
  done
  say "30 updates twice, in fp32 and bf16: bit-identical weights and moments"
}

training() {
  corpus
  local percent started=$SECONDS
  train "$work/run" --precision fp32
  started=$((SECONDS - started))
  within "$gyre" translate --model "$work/run" --device "$device" --beam-size 1 < "$work/test.en" > "$work/hyp.de"
  within "$gyre" evaluate exact-match --reference "$work/test.de" --json < "$work/hyp.de" > "$work/score"
  percent=$(field exact_match < "$work/score")
  record "{\"exact_match\":$percent,\"training_seconds\":$started}"
  say "$percent % exact match (minimum $bar %), $started s of training"
  awk -v x="$percent" -v bar=$bar 'BEGIN { exit !(x >= bar) }'
}

masked_language() {
  corpus
  within "$gyre" vocab --input "$work/train.en" --type wordpiece --size 1000 --output "$work/vocab.txt"
  within "$gyre" data build --documents line --source "$work/train.en" --vocab "$work/vocab.txt" --output "$work/train.tok"
  local precision run losses first last what=
  for precision in fp32 bf16; do
    for run in one two; do
      within "$gyre" train mlm --config "$root/tools/recipes/mlm-small.toml" --device "$device" --precision $precision \
        --train-sets "$work/train.tok" --vocab "$work/vocab.txt" --model "$work/mlm-$precision-$run" --across-documents \
        --transformer-dropout 0.1 --lr-warmup 100 --total-updates 300 --after 300u --save-freq 300u --valid-freq 300u --disp-freq 10u
    done
    same_checkpoints mlm-$precision 300
    losses=$(grep '"event":"train"' "$work/mlm-$precision-one/metrics.jsonl")
    first=$(head -n 1 <<< "$losses" | field loss) last=$(tail -n 1 <<< "$losses" | field loss)
    record "{\"precision\":\"$precision\",\"first_loss\":$first,\"last_loss\":$last}"
    awk -v first="$first" -v last="$last" -v share=$mlm_share 'BEGIN { exit !(last > 0 && last < share * first) }' ||
      { say "$precision: the loss falls only from $first to $last"; exit 1; }
    what+=", $precision $first to $last"
  done
  say "300 updates twice: identical bits; loss${what#,}"
}

generation() { # trains a small LLaMA, and continues prompts greedily on the GPU and on the CPU
  corpus
  within "$gyre" train lm --preset llama-tiny --device "$device" --train-sets "$work/train.en" --vocab "$work/vocab.model" \
    --model "$work/lm" --max-length 64 --mini-batch 64 --after 200u --optimizer muon --learn-rate 3e-3
  cut -d ' ' -f 1-3 "$work/test.en" | head -n 20 > "$work/prompts"
  local where
  for where in "$device" cpu; do
    within "$gyre" generate --model "$work/lm" --device "$where" --input "$work/prompts" --temperature 0 --max-tokens 32 \
      > "$work/continued-$where"
  done
  local same
  same=$(paste "$work/continued-$device" "$work/continued-cpu" | awk -F '\t' '$1 == $2' | wc -l)
  say "$same of 20 greedy continuations of a LLaMA are those of the CPU (minimum 18: sums of fp32 differ in their order)"
  [ "$same" -ge 18 ]
}

sanitize() { # sanitize TOOL [ROWS]: runs the op table, or its rows with this text in their names, under a tool of compute-sanitizer
  local rc=0 tool tests_of=(--source-file='*cuda_test*')
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null) || cannot "compute-sanitizer is not installed"
  have_tests
  if [ -n "${2:-}" ]; then
    export GYRE_OPS=$2
    tests_of+=(--test-case='every op on a GPU*')
  fi
  case $1 in # one allocation per tensor, so that the tool knows its end and the bytes that nobody wrote
    memcheck | initcheck) export GYRE_CUDA_POOL=0 ;;
  esac
  within "$tool" --tool "$1" --target-processes all --error-exitcode 9 --print-limit 20 "$tests/test_autograd" \
    "${tests_of[@]}" > "$work/sanitizer" 2>&1 || rc=$?
  tail -n 200 "$work/sanitizer"
  grep -qE 'Device not supported|not supported on this' "$work/sanitizer" && cannot "compute-sanitizer does not work here: $(grep -m 1 'not supported' "$work/sanitizer")"
  if grep -E '=========' "$work/sanitizer" | grep -qE 'Invalid|Race reported|Uninitialized|Barrier error|leaked'; then
    say "$(grep -m 1 -E 'Invalid|Race reported|Uninitialized|Barrier error|leaked' "$work/sanitizer" | cut -c1-160)"
    exit 1
  fi
  case $rc in
    0) say "the op table on CUDA${2:+, rows $2}: $(grep -m 1 SUMMARY "$work/sanitizer" | tr -d = || echo 'no errors')" ;;
    124 | 137) say "no errors until the time limit" ;;
  esac
  return $rc
}

# --- speed ---

has_torch() { # cached, because the check takes seconds
  [ -e "$work/torch" ] || { within "$python" -c 'import torch; print(torch.cuda.is_available())' || true; } > "$work/torch"
  grep -q True "$work/torch"
}
number() { awk -v x="${1:-}" -v f="$2" 'BEGIN { if (x == "") printf "-"; else printf f, x }'; }
ratio() { awk -v a="${1:-}" -v b="${2:-}" 'BEGIN { if (a == "" || !(b > 0)) printf "-"; else printf "%.2f", a / b }'; }
same_tokens() { # same_tokens JSON JSON: whether both counted the same tokens per step, up to rounding
  awk -v a="$(field tokens_per_step <<< "$1")" -v b="$(field tokens_per_step <<< "$2")" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (a * 1e-4) ^ 2) }'
}
bench() { # bench WHAT OPTIONS...: prints the JSON and records it
  local json
  json=$(within "$gyre" bench "$@" --device "$device" --json) || return
  record "$json"
}

steps=20 # a multiple of the number of different batches, so that both sides process the same tokens
# step_against_torch PRESET PRECISION [VARIANT...]: a step beside PyTorch's. VARIANT: eager, compiled (torch.compile) or
# cudnn (compiled, with cuDNN's attention). Default: eager compiled.
step_against_torch() {
  local preset=$1 precision=$2 variant other other_speed speed summary options rows=() torch=(--preset "$1" --precision "$2" --device "$device" --steps "$steps")
  local ours
  shift 2
  [ $# -gt 0 ] || set -- eager compiled
  ours=$(bench step --preset "$preset" --precision "$precision" --steps "$steps")
  speed=$(field tokens_per_second <<< "$ours")
  summary="$(number "$speed" %.0f) tokens/s, $(awk -v s="$(field share <<< "$ours")" 'BEGIN { printf "%.1f", 100 * s }') % of the limit"
  for variant in "$@"; do
    has_torch || continue
    case $variant in
      eager) options=() ;;
      compiled) options=(--compile) ;;
      cudnn) options=(--compile --attention cudnn) ;;
    esac
    other=$(within "$python" "$root/tools/bench/peers/torch_gpu.py" "${torch[@]}" "${options[@]}") || other=
    other_speed=$(field tokens_per_second <<< "$other" || true)
    summary+="; PyTorch, $variant: $(number "$other_speed" %.0f), ratio $(ratio "$speed" "$other_speed")"
    [ -n "$other" ] || continue
    record "$other" > /dev/null
    # The mean number of masked tokens may differ, but not that of all tokens.
    same_tokens "$ours" "$other" || { say "PyTorch's steps have $(field tokens_per_step <<< "$other") tokens, Gyre's $(field tokens_per_step <<< "$ours")"; exit 1; }
    rows+=("| PyTorch, $variant | $other_speed | $(field step_ms <<< "$other") | $(field peak_mb <<< "$other") | matrix product: $(field matmul_tflops <<< "$other") TFLOP/s, padding: $(field padding <<< "$other") |")
  done
  say "$summary"
  detail "| | tokens/s | ms per step | MiB | share of limit |"
  detail "|---|---|---|---|---|"
  detail "| Gyre | $speed | $(field step_ms <<< "$ours") | $(field peak_gpu_mb <<< "$ours") | $(field share <<< "$ours") of $(field limit_gflops <<< "$ours") GFLOP/s |"
  [ ${#rows[@]} -eq 0 ] || detail "$(printf '%s\n' "${rows[@]}")"
  [ ${#rows[@]} -eq $# ] || detail "PyTorch is missing in $(($# - ${#rows[@]})) of $# comparisons: $python has no torch with GPU support, or it failed or ran out of time (see the log)."
}

# kernels PRESET: every kernel of a training step by Nsight Compute, with time and bytes. The step lasts from one verdict
# about the gradient to the next; what the sum of its kernels leaves of a step without ncu are gaps between them.
kernels() {
  local tool ours
  tool=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2> /dev/null) || cannot "ncu is not installed"
  ours=$(bench step --preset "$1" --precision bf16 --steps "$steps")
  within "$tool" --clock-control none --cache-control none --target-processes all --csv --print-units base \
    --log-file "$work/ncu" --metrics gpu__time_duration.sum,dram__bytes.sum \
    "$gyre" bench step --preset "$1" --precision bf16 --steps 1 --device "$device" --json || true
  ! grep -q ERR_NVGPUCTRPERM "$work/ncu" || cannot "ncu may not read the GPU's counters here"
  awk -F '","' -v step="$(field step_ms <<< "$ours")" -f "$root/tools/scripts/kernel_list.awk" "$work/ncu" > "$work/kernels" ||
    { tail -n 5 "$work/ncu"; say "ncu listed no step"; exit 1; }
  detail "$(sed 's/^/    /' "$work/kernels")"
  say "$(head -n 1 "$work/kernels")"
}

long_contexts() { # steps of one segment of many tokens: time and memory
  local length json what=
  for length in 32768 131072; do
    json=$(within "$gyre" inspect profile --preset llama-tiny --vocab-size 8192 --segments 1 --length $length --steps 1 \
      --precision bf16 --device "$device" --json)
    record "$json" > /dev/null
    what+="; $length tokens: $(field step_ms <<< "$json") ms, $(field peak_tensor_mib <<< "$json") MiB"
  done
  say "${what#; }"
}

table() { # table WHAT OPTIONS...: adds the table of gyre bench to the report, and its JSON to report.jsonl
  local rc=0
  within "$gyre" bench "$@" --device "$device" > "$work/table" || rc=$?
  cat "$work/table"
  [ $rc -eq 0 ] || return $rc
  detail "$(sed 's/^/    /' "$work/table")"
  bench "$@" > /dev/null
  local share
  share=$(field share < <(tail -n 1 "$work/results") || true)
  say "${share:+$(awk -v s="$share" 'BEGIN { printf "%.1f %% of the limit", 100 * s }')}"
}

decode() {
  local json
  if [ -s "$work/hyp.de" ]; then
    json=$(bench decode --model "$work/run" --input "$work/test.en" --precision "$1" --steps 3)
  else
    json=$(bench decode --precision "$1" --steps 3)
  fi
  say "$(field sentences_per_second <<< "$json") sentences/s, beam 4"
}

# --- whole trainings and several GPUs ---

multi30k() {
  [ -e "$data/train.en" ] || cannot "no Multi30k in $data (--data)"
  local score
  GYRE=$gyre RANKS=1 within "$root/tools/scripts/multi30k.sh" "$data" "$work/multi30k" --device "$device" --precision bf16 ||
    [ -s "$work/multi30k/hyp.de" ] # its last step, a plot, needs gnuplot
  score=$(within "$gyre" evaluate bleu --reference "$data/test_2016_flickr.de" --json < "$work/multi30k/hyp.de" | field bleu)
  record "{\"multi30k_bleu\":$score}"
  say "Multi30k test_2016_flickr: $score BLEU (41 on CPUs)"
}

two_gpus() {
  [ "$(nvidia-smi -L 2> /dev/null | grep -c '^GPU')" -ge 2 ] || cannot "there is one GPU"
  local ranks=("$root/tools/scripts/mpirun.sh" -n 2) one two
  command -v mpirun > /dev/null || cannot "mpirun is not installed"
  within "${ranks[@]}" "$tests/test_mpi" --test-case='*GPU*'
  one=$(within "$gyre" inspect profile --device cuda --precision bf16 --segments 833 --length 30 --json)
  two=$(within "${ranks[@]}" "$gyre" inspect profile --device cuda --precision bf16 --segments 833 --length 30 --json)
  record "$two" > /dev/null
  say "transformer-base: $(field tokens_per_second <<< "$one") tokens/s on one GPU, $(field tokens_per_second <<< "$two") on two"
}

part correct 60 machine machine_facts
if [ $failures -gt 0 ]; then
  echo "$out/report.md: $(sed -n 's/^| machine |[^|]*|[^|]*| \(.*\) |$/\1/p' "$out/report.md")" >&2
  exit 1
fi
case $quick in
  1)
    part correct 10 hopper-table hopper_table
    part correct 40 attention-ops op_rows attention
    part correct 20 attention-ops-hopper with_hopper op_rows attention/tiles
    for length in 512 1024; do
      segments=(--precision bf16 --dim-emb 768 --heads 12 --segments $((32768 / length)) --lengths $length --kind softmax)
      part speed 20 attention-$length table attention "${segments[@]}"
      part speed 20 attention-$length-hopper with_hopper table attention "${segments[@]}"
    done
    part correct 20 nccl-one-rank core_tests 'NCCL*'
    for preset in nmt-base-25k mlm-base-32k llama-160m-32k; do part speed 40 kernels-$preset kernels $preset; done
    part speed 160 step-llama-160m-32k-bf16 step_against_torch llama-160m-32k bf16 compiled cudnn
    ;;
  2)
    part speed 120 step-mlm-base-32k-bf16 step_against_torch mlm-base-32k bf16 compiled cudnn
    part speed 30 gemm-bf16 table gemm --preset nmt-big-25k --precision bf16
    part speed 40 ops-bf16 table ops --preset nmt-base-25k --precision bf16
    part speed 60 step-nmt-base-25k-tf32 step_against_torch nmt-base-25k tf32 eager
    part sound 30 racecheck-attention sanitize racecheck attention/tiles
    part sound 30 racecheck-norm sanitize racecheck layer_norm
    part speed 40 long-contexts long_contexts
    part speed 120 multi30k multi30k
    ;;
  *)
    part correct 10 hopper-table hopper_table
    part correct 20 attention-ops-hopper with_hopper op_rows attention/tiles
    part correct 120 tests cuda_tests
    part correct 120 tests-poisoned poisoned_tests
    part correct 90 gradients gradients
    part correct 90 same-bits same_bits
    part sound 120 memcheck sanitize memcheck
    part sound 120 racecheck sanitize racecheck
    part speed 60 profile-nmt-base-25k table step --preset nmt-base-25k --precision bf16 --profile
    part speed 40 gemm-bf16 table gemm --preset nmt-big-25k --precision bf16
    part speed 120 step-nmt-base-25k-bf16 step_against_torch nmt-base-25k bf16
    part speed 120 step-nmt-big-25k-bf16 step_against_torch nmt-big-25k bf16
    part speed 120 step-mlm-base-32k-bf16 step_against_torch mlm-base-32k bf16
    part speed 120 step-llama-160m-32k-bf16 step_against_torch llama-160m-32k bf16
    part correct 150 training training
    part speed 40 decode-bf16 decode bf16
    part correct 90 masked-language masked_language
    part correct 60 generation generation
    part speed 600 multi30k multi30k
    part speed 120 two-gpus two_gpus
    part speed 60 ops-bf16 table ops --preset nmt-base-25k --precision bf16
    part sound 60 initcheck sanitize initcheck
    part sound 60 synccheck sanitize synccheck
    part speed 120 step-nmt-base-25k-tf32 step_against_torch nmt-base-25k tf32
    part speed 40 gemm-tf32 table gemm --preset nmt-base-25k --precision tf32
    part speed 120 step-nmt-base-25k-fp32 step_against_torch nmt-base-25k fp32
    part speed 40 decode-fp32 decode fp32
    ;;
esac

echo "$out/report.md: $failures parts about correctness failed" >&2
[ $failures -eq 0 ]
