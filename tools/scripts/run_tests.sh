#!/usr/bin/env bash
# Runs the tests of a build folder. Its last lines say what they skipped on this machine, with reasons, and what they
# covered; BUILD/test_summary.txt keeps them. The exit status is ctest's.
#   tools/scripts/run_tests.sh BUILD [CTEST_OPTION...]
set -uo pipefail
[ $# -ge 1 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
build=$1
shift
log=$build/Testing/Temporary/LastTest.log # the output of every test, of those that passed too
rm -f "$log"
status=0
# Two at a time: tests of faults and of waiting wait.
ctest -j 2 --output-on-failure --test-dir "$build" "$@" || status=$?

# Tests print "skipped: REASON" or "skipped: PART: REASON", and "covered: WHAT" (tests/report.h, tests/tools/lib.sh).
{
  [ -f "$log" ] && awk '
    /^[0-9]+\/[0-9]+ Test: / { test = $3 }
    /^skipped: / { print "skipped: " test substr($0, 8) }' "$log" | sort -u
  [ -f "$log" ] && grep '^covered: ' "$log" | sort -u
} | tee "$build/test_summary.txt"
exit "$status"
