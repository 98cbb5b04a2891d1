#!/usr/bin/env bash
# Tests tools/scripts/run_tests.sh on a folder of tests that pass, skip and fail: it lists the skipped parts and reports
# failures.
. "$(dirname "$0")/lib.sh"
lib=$ROOT/tests/tools/lib.sh

cat > CTestTestfile.cmake << END
add_test(passes bash -c "echo covered: fp32 cpu_v2")
add_test(partly bash -c ". $lib && skipped 'pictures' 'no dot' && seq 1 2000 && skipped pages 'no groff' && echo 'once skipped: not this'")
add_test(wholly bash -c ". $lib && skip_test 'no root'; echo went on")
set_tests_properties(wholly PROPERTIES SKIP_RETURN_CODE 77)
END
"$ROOT/tools/scripts/run_tests.sh" . > out.txt
check "ctest's own summary" grep -qx '100% tests passed, 0 tests failed out of 3' out.txt
check "ctest reports a test that skips itself as skipped" grep -qE 'Test #3: wholly \.*\*\*\*Skipped' out.txt
cat > wanted.txt << END
skipped: partly: pages: no groff
skipped: partly: pictures: no dot
skipped: wholly: no root
covered: fp32 cpu_v2
END
check "the last lines list the skipped parts and the coverage" diff <(tail -n 4 out.txt) wanted.txt
check "the summary file has these lines" diff test_summary.txt wanted.txt

echo 'add_test(fails bash -c "echo skipped: a part: a reason; exit 1")' >> CTestTestfile.cmake
status=0
"$ROOT/tools/scripts/run_tests.sh" . > out.txt || status=$?
same "the exit status for a failing test is that of ctest" "$status" 8
check "skipped parts of a failing test are listed" grep -qx 'skipped: fails: a part: a reason' out.txt
status=0
"$ROOT/tools/scripts/run_tests.sh" . -R passes > out.txt || status=$?
same "options are passed to ctest" "$status $(grep -c '^skipped' out.txt || true)" "0 0"

echo 'add_test(hangs bash -c "echo before; sleep 1000")' > CTestTestfile.cmake
status=0
TEST_TIMEOUT=1 "$ROOT/tools/scripts/run_tests.sh" . > out.txt || status=$?
same "a test that hangs fails" "$status $(grep -c '\*\*\*Timeout' out.txt) $(grep -cx before out.txt)" "8 1 1"
