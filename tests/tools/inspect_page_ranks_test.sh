#!/usr/bin/env bash
# Tests gyre inspect page under mpirun: the page lists the buckets of the gradient with every parameter, and the sum of
# the gradients of all ranks is that of the all-reduce.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"

mpirun -n 2 "$GYRE" inspect page --preset transformer-tiny --output two.html > out.txt
same "no output" "$(cat out.txt)" ""
mpirun -n 3 "$GYRE" inspect page --preset lm-tiny --bucket-mb 0.5 --output three.html
mpirun -n 2 "$GYRE" inspect page --preset bert-mini --bucket-mb 1024 --precision auto --output large.html
pages="two.html three.html large.html"
for page in $pages; do check "$page has $(wc -c < $page) bytes" test "$(wc -c < $page)" -lt 3000000; done

# The elements of each parameter that lie in buckets, and their number, one line each.
data() { grep -oE '"ranks":\{"parameters":.*' "$1"; }
in_buckets() {
  data "$1" | grep -oE '"parts":\[[][0-9,]*\]' | grep -oE '[0-9]+,[0-9]+,[0-9]+' |
    awk -F, '{ sum[$1] += $3 - $2 } END { for (i in sum) print i, sum[i] }' | sort -n
}
in_model() { data "$1" | grep -oE '"name":"[^"]*","elements":[0-9]+' | awk -F: '{ print NR - 1, $NF }'; }
for page in $pages; do
  check "$page: $(in_model $page | wc -l) parameters" test "$(in_model $page | wc -l)" -gt 20
  same "$page: every parameter is in the buckets once" "$(in_buckets $page)" "$(in_model $page)"
done
buckets() { data "$1" | grep -oE '\{"elements":[0-9]+,"parts"' | wc -l; }
check "$(buckets two.html) buckets of 1 MiB" test "$(buckets two.html)" -gt 4
same "a table and the rest" "$(buckets large.html)" 2
check "the first bucket leaves after the loss" contains '"buckets":\[\{"elements":[0-9]+,"parts":\[\[[0-9]+,[0-9]+,[0-9]+\]\],"node":' < two.html

# Rank 0 is the step of one rank.
"$GYRE" inspect page --preset transformer-tiny --cpu-threads 1 --output one.html
loss() { sed -nE 's/.*<script id="data" type="application\/json">\{"loss":([^,]*),.*/\1/p' "$1"; }
same "the loss of rank 0" "$(loss two.html)" "$(loss one.html)"
same "one rank has no buckets" "$(data one.html)" ""

rejects 2 '^gyre: --bucket-mb would have no effect: there is one rank: run it by mpirun$' \
  "$GYRE" inspect page --bucket-mb 1 --output x.html
rejects 2 '\[--bucket-mb\] expected a number above 0 and at most 1e\+06, got 0$' \
  mpirun -n 2 "$GYRE" inspect page --bucket-mb 0 --output x.html
rejects 2 '--text: expected one rank, got 2: each needs a batch of its own$' \
  mpirun -n 2 "$GYRE" inspect page --model run --text a --output x.html
check "no page after an error" test ! -e x.html

if ! has_chromium; then
  skipped "walking through the page" "chromium-headless-shell is not installed or does not start"
  exit 0
fi
for page in $pages; do
  with_scripts $page walk.js step_page_walk.js > walked.html
  in_chromium walked.html > dom.txt
  same "$page: no errors" "$(noted errors dom.txt)" ""
  same "$page: sums and elements that differ" "$(noted disagreements dom.txt)" 0
  check "$page: $(noted agreements dom.txt) elements added again" test "$(noted agreements dom.txt)" -gt 20
  same "$page: buckets" "$(noted buckets dom.txt)" "$(buckets $page)"
  check "$page: the verdict on all sums" contains 'Their sums are those of the all-reduce: [0-9]{4,} equal' < dom.txt
done

with_scripts two.html page_checks.js ranks_states.js > checked.html
in_chromium checked.html > dom.txt
same "problems of the overview" "$(noted problems dom.txt)" ""
