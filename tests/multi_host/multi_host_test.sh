#!/usr/bin/env bash
# Training across hosts, which are network namespaces with separate links: the same bits as on one host, overlap of
# communication with backward on a slow link, and a link that goes down.
. "$(dirname "$0")/../mpi/lib.sh"
. "$ROOT/tools/scripts/hosts.sh"
trap 'remove_hosts; rm -rf "$work"' EXIT
make_hosts 4 2> hosts.log || skip_test multi_host "$(tail -n 1 hosts.log)"

run_on() { # run_on HOSTS RUN OPTION...
  local hosts=$1
  shift
  on_hosts "$hosts" $(rank_of "$@" --quiet)
}

options="--deterministic --after 12u --ema 0.9"
"$GYRE" $(rank_of alone $options --quiet | cut -d' ' -f2-)
for count in 2 4; do
  run_on "$count" "on$count" $options
  same_bits "$count hosts" "on$count" alone
done
run_on 4 zero $options --zero 1
same_bits "four hosts with sharded optimizer state" zero alone
run_on 4 gradients $options --zero 2
same_bits "four hosts with sharded gradients" gradients alone

# The seconds that rank 0 waited for gradients.
exposed() { sed -nE 's/.*"rank_seconds":\[\{[^}]*"communication":([0-9.e+-]+).*/\1/p' "$1/metrics.jsonl" | tail -n 1; }
set_links 400mbit
for bucket in 0.5 1024; do
  run_on 2 "bucket$bucket" --after 6u --mini-batch-words 1200 --dim-emb 256 --transformer-dim-ffn 1024 --enc-depth 4 \
    --dec-depth 4 --bucket-mb "$bucket"
done
with=$(exposed bucket0.5) without=$(exposed bucket1024)
check "overlap hides communication" awk "BEGIN { exit !($with < $without) }"
echo "on links of 400 Mbit/s rank 0 waited $with s for gradients; without overlap $without s"
set_links

# A link goes down: the remaining rank names the one that does not answer.
on_hosts 2 $(rank_of cut --after 1Mu --watchdog-timeout 3 --quiet) > job.log 2>&1 &
job=$!
wait_for_update cut 3
on_host 2 ip link set eth0 down
status=0
wait "$job" || status=$?
[ "$status" -ne 0 ] || fail "a link went down and the job succeeded"
grep -q "rank 1 does not answer: it was stopped or is cut off" job.log || { cat job.log >&2; fail "the error does not name the rank"; }
echo "ok: a link went down: $(grep -vE '^-*$' job.log | tail -n 1)"

# The experiment that compares such hosts with the plan. It makes hosts of its own.
remove_hosts
from_corpus train.en
awk '{ print } NR % 100 == 0 { print "" }' train.en > books.txt
scaling() {
  PIECES=300 HOSTS="1 2" LINKS=500 UPDATES=2 "$ROOT/tools/experiments/scaling.sh" books.txt scaling --layers 1 \
    --dim-emb "$1" > scaling.log 2> scaling.err || { local status=$?; cat scaling.err >&2; return $status; }
}
scaling 24 || fail "the experiment"
check "the expected time is said" grep -qE '^expected time: [0-9]+ minutes' scaling.err
same "the rows of the table" "$(sed -nE 's/^\| ([12]) \| 500 \| [0-9.]+ \| [0-9]+ \| [0-9]+ \| [+-][0-9]+ \| [0-9]+ \| [0-9]+ \|$/\1/p' scaling/table.md | paste -sd,)" 1,2
same "losses" "$(cut -d'|' -f4 scaling/table.md | sed 1,2d | sort -u | wc -l)" 1
same "numbers of ranks of the plan" "$(grep -cE '^ +[0-9]+ ' scaling/plan-500.txt)" 11
cp -rp scaling first
scaling 24 || fail "the experiment again"
check "existing results are kept" diff -r first scaling
check "nothing is measured again" test ! scaling/2-500/prediction.json -nt first/2-500/prediction.json
rejects 2 'has results of other settings: TEXT=books.txt UPDATES=2 PIECES=300 --layers 1 --dim-emb 24; expected' scaling 48
