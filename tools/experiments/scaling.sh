#!/usr/bin/env bash
# Measures how a training scales over hosts with slow links, which are network namespaces of this machine, beside what
# gyre plan predicts; and plans it for more ranks.
#   tools/experiments/scaling.sh TEXT OUTPUT [OPTIONS OF THE MODEL]...
# TEXT: documents separated by blank lines. OUTPUT gets a run for each number of ranks and rate of links, table.md, and
# plan.txt, the plan for up to 1,024 ranks. Existing results are kept, so the script resumes. Requires root. A host has
# one thread; hosts beyond the number of cores share them, which the plan knows: its rate of matrix products is measured
# in as many processes at once. Environment:
#   HOSTS="1 2 4"  LINKS="500 100" (Mbit/s of each host)  UPDATES=8 (of 8,192 tokens)
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
gyre=$(realpath "${GYRE:-build/gyre}")
updates=${UPDATES:-8}
read -ra counts <<< "${HOSTS:-1 2 4}"
read -ra links <<< "${LINKS:-500 100}"
shopt -s inherit_errexit

mkdir -p "$output"
if [ ! -e "$output/vocab.model" ]; then
  head -n 30000 "$text" > "$output/sample.txt"
  "$gyre" vocab --input "$output/sample.txt" --type bpe --size "${PIECES:-4000}" --output "$output/vocab.model"
  rm "$output/sample.txt"
fi
if [ ! -e "$output/text.tok" ]; then
  "$gyre" data build --vocab "$output/vocab.model" --source "$text" --documents blank-line --output "$output/text.tok"
fi

model=(--preset llama-tiny --max-length 512 --mini-batch-words 8192 --vocab "$output/vocab.model" "$@")
plan() { # RANKS LINK [OPTIONS]...
  "$gyre" plan lm "${model[@]}" --cpu-threads 1 --ranks "$1" --link-gbit "$(awk -v link="$2" 'BEGIN { print link / 1000 }')" "${@:3}" \
    2> >(sed '/^note: /d' >&2)
}
field() { sed -nE "s/.*\"$1\":([0-9.e+-]+).*/\1/p"; }

rates() { # COUNT: the plan's options for hosts that measure at the same time, of the slowest
  local i part=()
  for ((i = 1; i <= $1; ++i)); do
    plan 1 1000 --json > "$output/rate.$i" &
    part+=("$output/rate.$i")
  done
  wait
  echo --gflops "$(field gflops < <(cat "${part[@]}") | sort -g | head -n 1)" \
    --memory-gb "$(field memory_gb_per_second < <(cat "${part[@]}") | sort -g | head -n 1)"
  rm "${part[@]}"
}

measure() { # COUNT LINK
  local run=$output/$1-$2 options=()
  [ ! -e "$run/prediction.json" ] || return 0
  rm -rf "$run"
  read -ra options <<< "$(rates "$1")"
  set_links "$2mbit"
  on_hosts "$1" "$gyre" train lm "${model[@]}" --train-sets "$output/text.tok" --model "$run" --cpu-threads 1 \
    --after "${updates}u" --lr-warmup 10% --disp-freq "${updates}u" --keep-last 1 --seed 1 --quiet
  check_ended "$run"
  plan "$1" "$2" "${options[@]}" --json > "$run/prediction.part"
  mv "$run/prediction.part" "$run/prediction.json"
}

trap remove_hosts EXIT
make_hosts "$(printf '%s\n' "${counts[@]}" | sort -n | tail -n 1)" || exit
read -ra first <<< "$(rates 1)"
plan "$(IFS=,; echo "${counts[*]}")" "${links[0]}" "${first[@]}" --json | grep -oE '"step_seconds":[0-9.]+' |
  awk -F: -v updates=$((updates + 2)) -v links="${#links[@]}" \
    '{ sum += $2 } END { printf("expected time: %.0f minutes, more if hosts share cores\n", 1 + sum * updates * links / 60) }' >&2
for link in "${links[@]}"; do
  for count in "${counts[@]}"; do measure "$count" "$link"; done
done

{
  echo '| hosts | link, Mbit/s | loss | tokens/s | planned | error, % | waits for gradients, % | planned |'
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
          printf("| %d | %d | %.6f | %.0f | %.0f | %+.0f | %.0f | %.0f |\n", count, link, loss, got, plan,
            100 * (plan / got - 1), 100 * waits / (compute + waits), 100 * exposed / step) }'
    done
  done
} | tee "$output/table.md"
plan "$(seq -s , 0 10 | awk -F, '{ for (i = 1; i <= NF; ++i) printf("%s%d", (i > 1) ? "," : "", 2 ^ $i) }')" "${links[0]}" \
  "${first[@]}" > "$output/plan.txt"
