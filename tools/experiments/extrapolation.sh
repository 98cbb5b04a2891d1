#!/usr/bin/env bash
# Trains the same small causal language model with every position encoding and measures its perplexity at lengths beyond
# the training length (Press et al. 2022; Oka et al. 2025, table 1).
#   tools/experiments/extrapolation.sh TEXT OUTPUT [FLAG]... [-- OPTIONS OF gyre train lm]
# TEXT: at least three documents separated by blank lines; the last two are held out for evaluation.
#   --updates N      updates per model; default 900, which takes 90 minutes on two cores for all models
#   --only A,B,..    train only these of the encodings listed below
#   --grid WAVELET   instead: ricker, gaussian, morlet or haar with each line of tools/recipes/wavelet-grid.txt
#   --lengths L,..   lengths to evaluate; default 128,256,512,1012,1512,2512
#   --tokens N       tokens to score at each length; default 20096
#   --protocols P,.. some of cut, full and sliding, the slowest at lengths of thousands; default all
#   --ranks N        ranks per training run; default 1
#   --threads N      threads per rank; default 0, the cores divided among the ranks
# OUTPUT gets runs/NAME and results/NAME.json (gyre evaluate extrapolation) of each model, and report.md, report.json,
# full.svg, cut.svg, sliding.svg of all results. Existing results are kept, so the script resumes an interrupted
# experiment. A different number of updates requires a different OUTPUT. Environment: PIECES=2000 (of the vocabulary).
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
usage() {
  if [ $# -gt 0 ]; then echo "$1" >&2; else sed -n '4,16s/^# *//p' "$0" >&2; fi
  exit 2
}

encodings() { # one line "NAME OPTIONS" each
  cat << END
none --position none
sinusoidal --position sinusoidal --max-positions 8192 --scale-embedding
learned --position learned --max-positions $length
shaw --position shaw
nezha --position nezha
xl --position xl
t5 --position t5
tupe --position tupe --max-positions $length
deberta --position deberta
alibi --position alibi
rope --position rope
rope-500k --position rope --rope-base 500000
ricker --position wavelet --wavelet ricker
ricker-mirrored --position wavelet --wavelet ricker --wavelet-time query-minus-key
gaussian --position wavelet --wavelet gaussian
morlet --position wavelet --wavelet morlet
haar --position wavelet --wavelet haar
haar-mirrored --position wavelet --wavelet haar --wavelet-time query-minus-key
window-alibi --position alibi --attention window --attention-window 256
END
}

# The run of rope, evaluated with scaled frequencies.
scalings() {
  cat << END
rope-linear --rope-scaling linear
rope-ntk --rope-scaling ntk
rope-yarn --rope-scaling yarn
END
}

powers() { # FIRST LAST: prints 2^FIRST,..,2^LAST exactly
  awk -v first="$1" -v last="$2" 'BEGIN { for (i = first; i <= last; ++i) printf("%s%.0f", (i > first) ? "," : "", 2 ^ i) }'
}

grid() { # WAVELET
  local first last scales
  while read -r first last; do
    scales=$((last - first + 1))
    if [ $((width % scales)) -ne 0 ]; then continue; fi
    echo "$1-$first-$last --position wavelet --wavelet $1 --wavelet-scales $(powers "$first" "$last")" \
      "--wavelet-shifts $(seq -s , 0 $((width / scales - 1)))"
  done < <(grep -v '^#' "$here/../recipes/wavelet-grid.txt")
}

[ $# -ge 2 ] || usage
text=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
updates=900 only='' wavelet='' lengths=128,256,512,1012,1512,2512 tokens=20096 protocols=cut,full,sliding ranks=1 threads=0
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ $# -ge 2 ] || usage "expected a value after $1, got none"
  case $1 in
    --updates) updates=$2 ;;
    --only) only=$2 ;;
    --grid) wavelet=$2 ;;
    --lengths) lengths=$2 ;;
    --tokens) tokens=$2 ;;
    --protocols) protocols=$2 ;;
    --ranks) ranks=$2 ;;
    --threads) threads=$2 ;;
    *) usage "unknown option $1" ;;
  esac
  shift 2
done
if [ $# -gt 0 ]; then shift; fi
options=("$@")
option() { # NAME DEFAULT: prints the value of this option of gyre train lm
  local i
  for ((i = 0; i + 1 < ${#options[@]}; ++i)); do
    if [ "${options[i]}" = "--$1" ]; then echo "${options[i + 1]}" && return; fi
  done
  echo "$2"
}
length=$(option max-length 512)
width=$(($(option dim-emb 128) / $(option transformer-heads 4)))

if [ -n "$wavelet" ]; then chosen=$(grid "$wavelet"); else chosen=$(encodings); fi
if [ -n "$only" ]; then
  for name in ${only//,/ }; do
    grep -q "^$name " <<< "$chosen" || usage "--only: expected some of $(cut -d' ' -f1 <<< "$chosen" | paste -sd' '), got $name"
  done
  chosen=$(grep -E "^(${only//,/|}) " <<< "$chosen")
fi

mkdir -p "$output/runs" "$output/results"
held_out "$text" "$output"
bpe_data "$output/train.txt" "$output" "${PIECES:-2000}"

evaluate() { # NAME RUN OPTIONS
  local name=$1 run=$2
  shift 2
  if [ "$output/results/$name.json" -nt "$run/checkpoints/last/model.safetensors" ]; then return; fi
  "$gyre" evaluate extrapolation --model "$run" --input "$output/held-out.txt" --lengths "$lengths" --tokens "$tokens" \
    --protocol "$protocols" --precision auto --cpu-threads "$threads" --json "$@" > "$output/results/$name.part"
  mv "$output/results/$name.part" "$output/results/$name.json"
}

names=()
while read -r name line; do
  run=$output/runs/$name
  echo "== $name"
  read -ra position <<< "$line"
  if ! has_ended "$run" "$updates"; then
    "$here/../scripts/mpirun.sh" -n "$ranks" "$gyre" train lm --config "$here/../recipes/lm-extrapolation.toml" \
      --train-sets "$output/text.tok" --vocab "$output/vocab.model" --model "$run" --after "${updates}u" \
      --total-updates "$updates" --threads "$threads" "${position[@]}" "${options[@]}" < /dev/null
    check_ended "$run"
  fi
  evaluate "$name" "$run"
  names+=("$name")
  if [ "$name" = rope ]; then
    while read -r name line; do
      read -ra position <<< "$line"
      evaluate "$name" "$run" "${position[@]}"
      names+=("$name")
    done < <(scalings)
  fi
done <<< "$chosen"

results=()
for name in "${names[@]}"; do results+=("$output/results/$name.json"); done

for protocol in full cut sliding; do
  # Skip a protocol without scores.
  grep -qE "\"protocol\":\"$protocol\",\"perplexity\":[0-9]" "${results[@]}" || continue
  "$gyre" plot extrapolation --results "${results[@]}" --protocol "$protocol" --output "$output/$protocol.svg"
done

# Prints one line "NAME PROTOCOL LENGTH PERPLEXITY" per score.
scores() {
  local name
  for name in "${names[@]}"; do
    grep -oE '"length":[0-9]+,"protocol":"[a-z]+","perplexity":[^,]+' "$output/results/$name.json" |
      sed -E "s/\"length\":([0-9]+),\"protocol\":\"([a-z]+)\",\"perplexity\":(.*)/$name \2 \1 \3/"
  done
}

table() { # PROTOCOL
  scores | awk -v protocol="$1" -v lengths="$lengths" '
    BEGIN { n = split(lengths, columns, ","); printf "| encoding |"; for (i = 1; i <= n; ++i) printf " %s |", columns[i]
            printf "\n|---|"; for (i = 1; i <= n; ++i) printf "---:|"; print "" }
    $2 == protocol { if (!($1 in seen)) { seen[$1] = 1; order[++rows] = $1 }
                     cell[$1, $3] = $4 == "null" ? "n/a" : sprintf("%.2f", $4) }
    END { for (r = 1; r <= rows; ++r) { printf "| %s |", order[r]
            for (i = 1; i <= n; ++i) printf " %s |", cell[order[r], columns[i]]; print "" } }'
}

# Prints a field of the last event of this kind in a run's metrics.jsonl.
fact() { # NAME EVENT FIELD
  local value
  value=$(grep "\"event\":\"$2\"" "$output/runs/$1/metrics.jsonl" | tail -n 1 | sed -nE "s/.*\"$3\":([0-9.e+-]+).*/\1/p")
  echo "${value:-nan}"
}
training() {
  local name
  printf '| encoding | updates | training loss | tokens per second |\n|---|---:|---:|---:|\n'
  for name in "${names[@]}"; do
    [ -d "$output/runs/$name" ] || continue
    printf '| %s | %s | %.3f | %.0f |\n' "$name" "$(fact "$name" end updates)" "$(fact "$name" train loss)" \
      "$(fact "$name" end tokens_per_second)"
  done
}

{
  echo "# Perplexity beyond the training length of $length tokens"
  echo
  echo "$(sed -nE 's/.*"tokens":([0-9]+),"rows".*/\1/p' "${results[0]}") held-out tokens at every length;" \
    "n/a: results/ has the reason."
  if [ -d "$output/runs/rope" ]; then echo "rope-linear, -ntk and -yarn are the run of rope with scaled frequencies."; fi
  for protocol in full cut sliding; do
    [[ ,$protocols, == *,$protocol,* ]] || continue
    case $protocol in
      full) title="full: blocks of each length" ;;
      cut) title="cut: blocks of each length, cut into pieces of the training length" ;;
      sliding) title="sliding: a sliding window of each length" ;;
    esac
    printf '\n## %s\n\n' "$title"
    if [ -e "$output/$protocol.svg" ]; then printf '![](%s.svg)\n\n' "$protocol"; fi
    table "$protocol"
  done
  printf '\n## Training\n\n'
  training
} > "$output/report.md"

{
  printf '{"length":%s,"results":{' "$length"
  separator=
  for name in "${names[@]}"; do
    printf '%s"%s":%s' "$separator" "$name" "$(cat "$output/results/$name.json")"
    separator=,
  done
  printf '}}\n'
} > "$output/report.json"
echo "$output/report.md"
