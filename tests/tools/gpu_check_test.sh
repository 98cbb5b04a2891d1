#!/usr/bin/env bash
# tools/scripts/gpu_check.sh with a stand-in for the program: a part that passes, one that crashes, one that hangs and
# ignores signals, and a machine without a GPU.
. "$(dirname "$0")/lib.sh"

# Each command answers as the program does on a GPU, or as $FAULT says.
cat > gyre << 'PROGRAM'
#!/usr/bin/env bash
case "$FAULT $1 $2" in
  crash\ gradcheck*) [ "$3" = add ] || kill -SEGV $$ ;;
  hang\ gradcheck*) [ "$3" = add ] || { trap '' TERM; sleep 1000 & wait; wait; } ;;
  none\ gradcheck*) echo "gyre: [cuda] expected a GPU, got none" >&2; exit 2 ;;
esac
case $1 in
  --version) echo "gyre 0" ;;
  --build-info) echo "CUDA: stand-in" ;;
  gradcheck) echo "every op is right" ;;
  bench) echo '{"tokens_per_second":1000,"step_ms":5,"share":0.5,"limit_gflops":10,"tokens_per_step":50000}' ;;
esac
PROGRAM
chmod +x gyre
# Nsight Compute's lines about three steps of three launches, the third of which judges the gradient.
cat > ncu << 'PROGRAM'
#!/usr/bin/env bash
while [ $# -gt 0 ] && [ "$1" != --log-file ]; do shift; done
exec > "$2"
echo '==PROF== Connected'
echo '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
line() { echo "\"$1\",\"7\",\"gyre\",\"host\",\"$2\",\"1\",\"7\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"Command line profiler metrics\",\"$3\",\"$4\",\"$5\""; }
for step in 0 1 2; do
  for kernel in 0 1 2; do
    name='void gyre::cuda::(anonymous namespace)::scale_kernel<float, (int)64>(float *, const float *)'
    [ $kernel -ne 2 ] || name='gyre::cuda::<unnamed>::judge_kernel(double *, const double *)'
    line $((3 * step + kernel)) "$name" dram__bytes.sum byte "$((2 * step)),000,000"
    line $((3 * step + kernel)) "$name" gpu__time_duration.sum ns "$((1 + step)),000"
  done
done
PROGRAM
chmod +x ncu
PATH=$work:$PATH
export GYRE=$work/gyre TESTS=$work/none

run() { # run FAULT OPTIONS...: sets $status
  status=0
  FAULT=$1 "$ROOT/tools/scripts/gpu_check.sh" --output report "${@:2}" > run.log 2>&1 || status=$?
}
result_of() { sed -n "s/^| $1 | \([^|]*\) |.*/\1/p" report/report.md; }

run pass --only '^(machine|gradients|gemm-bf16)$'
same "all parts pass" "$status $(result_of machine) $(result_of gradients) $(result_of gemm-bf16)" "0 passed passed passed"
same "lines of JSON" "$(grep -c '"result":"passed"' report/report.jsonl)" 3

run crash --only '^(machine|gradients|gemm-bf16)$'
same "the parts after a crash run" "$status $(result_of gradients) $(result_of gemm-bf16)" "1 FAILED passed"
check "the report shows the end of the log" grep -q '^## gradients: end of the log' report/report.md

run hang --only '^(machine|gradients|gemm-bf16)$' --limit-scale 0.02
same "the parts after one that hangs run" "$status $(result_of gradients) $(result_of gemm-bf16)" "1 out of time passed"

run none --only .
same "without a GPU only the machine is reported" "$status $(grep -c '^| [a-z]' report/report.md)" "1 2"
check "the message" contains 'expected a GPU that gyre can use, got none' < run.log

# The quick halves: each part has its line, also without the program's tests, PyTorch and a GPU.
run pass --quick 1
same "the first half" "$status $(result_of kernels-nmt-base-25k) $(result_of nccl-one-rank) $(result_of step-llama-160m-32k-bf16)" \
  "0 passed not run passed"
check "the list of kernels" grep -qE '^ +0\.006 +66\.7% +2 +1333  scale_kernel<float, 64>$' report/report.md
check "its sum" contains '3 kernels take 0.01 ms of a step of 5.00 ms' < report/report.md
same "the kernels of Hopper, without their test program" \
  "$(result_of hopper-table) $(result_of attention-ops-hopper) $(result_of attention-512) $(result_of attention-512-hopper)" \
  "not run not run passed not run"
run pass --quick 2 --limit-scale 0.5
same "the second half" "$(result_of gemm-bf16) $(result_of racecheck-norm) $(grep -c '^| [a-z]' report/report.md)" "passed not run 10"
rejects 2 'gpu-check: --quick: expected 1 or 2, got 3' "$ROOT/tools/scripts/gpu_check.sh" --quick 3
