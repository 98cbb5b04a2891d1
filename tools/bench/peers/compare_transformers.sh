#!/usr/bin/env bash
# Trains the same masked language model in Gyre and in Hugging Face transformers, with the same initial weights, batches,
# masks and schedule, in fp32 on one thread each, one after the other. Compares the losses of all updates.
#   tools/bench/peers/compare_transformers.sh TEXT OUTPUT [OPTIONS OF gyre train mlm]...
# TEXT: documents separated by blank lines. OUTPUT gets the runs gyre/ and transformers-UPDATES/, what they start from
# (vocab.txt, text.tok, start/, initial/, batches-UPDATES.safetensors), losses.svg, losses.txt and table.md. Environment:
# POSITION=learned (rope: RoFormerForMaskedLM), UPDATES=500, PIECES=8000, GYRE=build/gyre, PYTHON=python3, which must
# have torch and transformers. Needs gnuplot. Existing results are kept, so the script resumes.
set -euo pipefail
here=$(dirname "$0")
if [ $# -lt 2 ]; then
  sed -n '4,8s/^# *//p' "$0" >&2
  exit 2
fi
text=$1
output=$2
shift 2
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
position=${POSITION:-learned}
updates=${UPDATES:-500}
"$python" -c 'import torch, transformers' 2> /dev/null || {
  echo "compare_transformers: $python has no torch or no transformers; install them with pip, or set PYTHON" >&2
  exit 1
}
command -v gnuplot > /dev/null || { echo "compare_transformers: gnuplot is not installed" >&2; exit 1; }
batches=$output/batches-$updates.safetensors
peer=$output/transformers-$updates

"$here/../../experiments/books_data.sh" "$text" "$output" "${PIECES:-8000}"
# Lets OpenBLAS and oneDNN choose their kernels for this CPU.
run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS=1 "$@"; }
options=(--config "$here/../../recipes/mlm-small.toml" --position "$position" --train-sets "$output/text.tok"
  --vocab "$output/vocab.txt" --precision fp32 --threads 1 "$@")
if [ "$position" != rope ]; then options+=(--max-positions 512); fi

# The first update of this run has a learning rate of 0, so its weights are the initial ones.
if [ ! -e "$output/initial/config.json" ]; then
  run "$gyre" train mlm "${options[@]}" --model "$output/start" --lr-warmup-start-rate 0 --after 1u --quiet
  "$gyre" export --to hf --model "$output/start" --checkpoint last --output "$output/initial"
fi
if [ ! -e "$batches" ]; then
  "$gyre" inspect batches "${options[@]}" --updates "$updates" --output "$batches"
fi
run "$gyre" train mlm "${options[@]}" --model "$output/gyre" --after "${updates}u" --disp-freq 1u --disp-seconds 0
if [ ! -e "$peer/metrics.jsonl" ]; then
  run "$python" "$here/transformers_mlm.py" --weights "$output/initial" --batches "$batches" \
    --options "$output/gyre/train.toml" --updates "$updates" --output "$peer"
fi
# One row per update: its number, the losses of both programs, their difference.
losses() { sed -n 's/.*"event": *"train", *"updates": *\([0-9]*\),.*"loss": *\([0-9.e-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
join <(losses "$output/gyre" | sort -k 1b,1) <(losses "$peer" | sort -k 1b,1) | sort -n |
  awk '{ d = $3 - $2; print $1, $2, $3, d < 0 ? -d : d }' > "$output/losses.txt"

# Rows of 100 updates: the mean loss in both programs, the largest and the mean difference.
awk '
  { row = int(($1 - 1) / 100); n[row]++; gyre[row] += $2; transformers[row] += $3; mean[row] += $4; all += $4
    if ($1 == 1) first = $4
    if ($4 > largest[row]) largest[row] = $4
    if ($4 > worst) worst = $4 }
  END {
    if (NR == 0) { print "the runs have no updates in common" > "/dev/stderr"; exit 1 }
    print "| updates | mean loss, Gyre | mean loss, transformers | largest difference | mean difference |"
    print "|---|---|---|---|---|"
    for (row = 0; row in n; row++)
      printf "| %d to %d | %.5f | %.5f | %.1e | %.1e |\n", 100 * row + 1, 100 * row + n[row], gyre[row] / n[row],
        transformers[row] / n[row], largest[row], mean[row] / n[row]
    printf "| all | | | %.1e | %.1e |\n", worst, all / NR
    printf "\nThe losses of the first update differ by %.1e.\n", first
  }' "$output/losses.txt" | tee "$output/table.md"

gnuplot << END
set terminal svg size 900,600 background "white" font "sans,14"
set output "$output/losses.svg"
set multiplot layout 2,1
set grid
set lmargin 12
set ylabel "loss (nats per token)"
plot "$output/losses.txt" using 1:2 with lines linewidth 1.5 linecolor rgb "#0072b2" title "Gyre", \
  "" using 1:3 every 10 with points pointtype 6 linecolor rgb "#d55e00" title "transformers, every tenth update"
set xlabel "updates"
set ylabel "difference"
set format y "10^{%L}"
set logscale y
plot "$output/losses.txt" using 1:(\$4 > 1e-8 ? \$4 : 1e-8) with lines linecolor rgb "#555555" notitle
END
