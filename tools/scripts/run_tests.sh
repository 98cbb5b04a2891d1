#!/usr/bin/env bash
# Runs the tests of a build folder. The last lines list the skipped parts with reasons, and what was covered; they are
# also written to BUILD/test_summary.txt. The exit status is that of ctest.
#   tools/scripts/run_tests.sh BUILD [CTEST_OPTION...]
# A test that takes longer than 15 minutes, or than the seconds in TEST_TIMEOUT, is ended and fails, because it hangs.
set -uo pipefail
[ $# -ge 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
build=$1
shift
log=$build/Testing/Temporary/LastTest.log # the output of every test, including those that passed
rm -f "$log"
status=0
# One more test than cores runs at a time, because the tests of faults and timeouts mostly wait. nproc would print the
# number of OpenMP's threads instead.
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
ctest -j $((cores + 1)) --timeout "${TEST_TIMEOUT:-900}" --output-on-failure --test-dir "$build" "$@" || status=$?

# Tests print "skipped: REASON" or "skipped: PART: REASON", and "covered: WHAT" (tests/report.h, tests/tools/lib.sh).
{
  [ -f "$log" ] && awk '
    /^[0-9]+\/[0-9]+ Test: / { test = $3 }
    /^skipped: / { print "skipped: " test substr($0, 8) }' "$log" | sort -u
  [ -f "$log" ] && grep '^covered: ' "$log" | sort -u
} | tee "$build/test_summary.txt"
exit "$status"
