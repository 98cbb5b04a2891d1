#!/usr/bin/env bash
# Measures how a training scales over hosts with slow links, which are network namespaces of this machine, beside what
# gyre plan predicts; and plans it for more ranks.
#   tools/experiments/scaling.sh TEXT OUTPUT [OPTIONS OF THE MODEL]...
# TEXT: documents separated by blank lines. OUTPUT gets a run for each number of hosts and rate of links, table.md, and
# plan-LINK.txt, the plan for 1 to 1,024 hosts with the first of LINKS. Existing results are kept, so the script resumes;
# other settings require another OUTPUT. Requires root. A host has one rank of one thread. Hosts beyond the number of
# cores share them; the plan for N hosts takes the rate of training steps that N processes have at once. Environment:
#   HOSTS="1 2 4"  LINKS="500 100" (Mbit/s of each host)  UPDATES=8 (of 8,192 tokens)  PIECES=4000 (of the vocabulary)
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
. "$here/../scripts/hosts.sh"
if [ $# -lt 2 ]; then
  sed -n '4,9s/^# *//p' "$0" >&2
  exit 2
fi
text=$1 output=$2
shift 2
options=("$@")
gyre=$(realpath "${GYRE:-build/gyre}")
updates=${UPDATES:-8} pieces=${PIECES:-4000}
read -ra counts <<< "${HOSTS:-1 2 4}"
read -ra links <<< "${LINKS:-500 100}"
shopt -s inherit_errexit
for count in "${counts[@]}"; do
  [[ $count =~ ^[1-9][0-9]*$ ]] || { echo "HOSTS: expected numbers, got $count" >&2; exit 2; }
done
for link in "${links[@]}"; do
  [[ $link =~ ^[0-9.]+$ ]] || { echo "LINKS: expected Mbit/s, got $link" >&2; exit 2; }
done

mkdir -p "$output"
settings="TEXT=$text UPDATES=$updates PIECES=$pieces $*"
check_settings "$output" "$settings"
bpe_data "$text" "$output" "$pieces"
model=(--preset llama-tiny --max-length 512 --mini-batch-words 8192 --vocab "$output/vocab.model" "${options[@]}")

plan() { # LINK [OPTIONS]...
  "$gyre" plan lm "${model[@]}" --cpu-threads 1 --link-gbit "$(awk -v link="$1" 'BEGIN { print link / 1000 }')" "${@:2}" \
    2> >(sed '/^note: /d' >&2)
}
field() { sed -nE "s/.*\"$1\":([0-9.e+-]+).*/\1/p"; }

measure_rate() { # COUNT: writes the rate of training steps of the slowest of so many processes at once, unless it is done
  local i process processes=()
  [ ! -e "$output/rate.$1" ] || return 0
  for ((i = 1; i <= $1; ++i)); do
    "$gyre" inspect profile --preset llama-tiny --vocab-size "$pieces" --segments 16 --length 512 --cpu-threads 1 --steps 1 \
      "${options[@]}" --json > "$output/profile.$i" &
    processes+=($!)
  done
  for process in "${processes[@]}"; do wait "$process"; done
  for ((i = 1; i <= $1; ++i)); do grep -oE '"gflops":[0-9.]+' "$output/profile.$i" | sed -n 1p; done | cut -d: -f2 | sort -g |
    sed -n 1p > "$output/rate.part"
  rm "$output"/profile.*
  mv "$output/rate.part" "$output/rate.$1"
}
predict() { plan "$2" --gflops "$(cat "$output/rate.$1")" "${@:3}"; } # COUNT LINK [OPTIONS]...

measure() { # COUNT LINK
  local run=$output/$1-$2
  [ ! -e "$run/prediction.json" ] || return 0
  rm -rf "$run"
  set_links "$2mbit"
  on_hosts "$1" "$gyre" train lm "${model[@]}" --train-sets "$output/text.tok" --model "$run" --cpu-threads 1 \
    --after "${updates}u" --lr-warmup 10% --disp-freq "${updates}u" --keep-last 1 --seed 1 --quiet
  check_ended "$run"
  predict "$1" "$2" --ranks "$1" --json > "$run/prediction.part"
  mv "$run/prediction.part" "$run/prediction.json"
}

left=()
for link in "${links[@]}"; do
  for count in "${counts[@]}"; do [ -e "$output/$count-$link/prediction.json" ] || left+=("$count $link"); done
done
if [ "${#left[@]}" -gt 0 ]; then
  trap remove_hosts EXIT
  make_hosts "$(printf '%s\n' "${counts[@]}" | sort -n | tail -n 1)"
  for count in "${counts[@]}"; do measure_rate "$count"; done
  keep_settings "$output" "$settings"
  for pair in "${left[@]}"; do predict ${pair} --ranks "${pair% *}" --json; done | field step_seconds |
    awk -v updates=$((updates + 2)) \
      '{ sum += updates * $1 + 5 } END { printf("expected time: %.0f minutes\n", 1 + sum / 60) }' >&2
  for pair in "${left[@]}"; do measure ${pair}; done
fi

{
  echo '| hosts | link, Mbit/s | loss | tokens/s | planned tokens/s | error, % | waits for gradients, % | planned waits, % |'
  echo '|---:|---:|---:|---:|---:|---:|---:|---:|'
  for link in "${links[@]}"; do
    for count in "${counts[@]}"; do
      run=$output/$count-$link
      end=$(grep '"event":"end"' "$run/metrics.jsonl" | tail -n 1)
      predicted=$(cat "$run/prediction.json")
      loss=$(grep '"event":"train"' "$run/metrics.jsonl" | tail -n 1 | field loss)
      compute=$(field 'rank_seconds":\[\{"compute' <<< "$end") waits=$(field 'rank_seconds":\[\{[^}]*"communication' <<< "$end")
      awk -v count="$count" -v link="$link" -v loss="$loss" -v got="$(field tokens_per_second <<< "$end")" \
        -v plan="$(field tokens_per_second <<< "$predicted")" -v compute="$compute" -v waits="$waits" \
        -v exposed="$(field exposed_seconds <<< "$predicted")" -v step="$(field step_seconds <<< "$predicted")" 'BEGIN {
          printf("| %d | %s | %.4f | %.0f | %.0f | %+.0f | %.0f | %.0f |\n", count, link, loss, got, plan,
            100 * (plan / got - 1), 100 * waits / (compute + waits), 100 * exposed / step) }'
    done
  done
} | tee "$output/table.md"
plan=$output/plan-${links[0]}.txt
if [ ! -e "$plan" ]; then
  predict "${counts[0]}" "${links[0]}" > "$output/plan.part"
  mv "$output/plan.part" "$plan"
fi
