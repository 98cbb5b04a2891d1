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
