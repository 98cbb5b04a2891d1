#!/usr/bin/env bash
# Compares ops of Gyre with the functions of llm.c for the CPU, at GPT-2's sizes in fp32: alternating runs, medians.
#   tools/bench/peers/compare_llm_c.sh CHECKOUT [THREADS [TURNS [RUNS]]]
# CHECKOUT is a checkout of github.com/karpathy/llm.c, GYRE (build/gyre) the program. CC (gcc) compiles llm.c.
# GCC vectorizes its tanhf and expf; Clang, the default of its Makefile, does not.
set -euo pipefail
here=$(dirname "$0")
gyre=${GYRE:-build/gyre}
cc=${CC:-gcc}
if [ $# -lt 1 ]; then
  sed -n '3,5s/^# *//p' "$0" >&2
  exit 2
fi
checkout=$1 threads=${2:-1} turns=${3:-3} runs=${4:-5}
[ -e "$checkout/train_gpt2.c" ] || { echo "compare_llm_c: $checkout is no checkout of llm.c: it has no train_gpt2.c" >&2; exit 1; }
"$gyre" --version > /dev/null || { echo "compare_llm_c: $gyre does not run; build it, or set GYRE" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The flags are those of llm.c's Makefile.
"$cc" -Ofast -march=native -fopenmp -DOMP -w -I"$checkout" "$here/llm_c_ops.c" -o "$work/llm_c_ops" -lm

run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OMP_NUM_THREADS="$threads" "$@"; }
# Prints op, shape, forward and backward of each row of a report in JSON.
rows() { tr '{' '\n' | sed -nE 's/.*"op":"([^"]*)","shape":"([^"]*)","forward_ms":([^,]*),"backward_ms":([^,]*),.*/\1\t\2\t\3\t\4/p'; }

for _ in $(seq "$turns"); do
  run "$gyre" bench ops --preset gpt2-small --steps "$runs" --threads "$threads" --json 2> /dev/null | rows >> "$work/gyre"
  run "$work/llm_c_ops" "$runs" >> "$work/peer"
done

echo "$("$gyre" --version) and llm.c by $("$cc" --version | head -n 1): $threads threads, $turns alternating turns of $runs runs"
printf '%-22s %-18s %12s %13s %12s %13s %6s\n' op shape "gyre fwd ms" "gyre bwd ms" "llm.c fwd ms" "llm.c bwd ms" ratio
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
times() { awk -F '\t' -v op="$1" -v shape="$2" -v column="$3" '$1 == op && $2 == shape { print $column }' "$4" | median; }
cut -f 1,2 "$work/peer" | awk '!seen[$0]++' | while IFS=$'\t' read -r op shape; do
  awk -v op="$op" -v shape="$shape" -v a="$(times "$op" "$shape" 3 "$work/gyre")" -v b="$(times "$op" "$shape" 4 "$work/gyre")" \
    -v c="$(times "$op" "$shape" 3 "$work/peer")" -v d="$(times "$op" "$shape" 4 "$work/peer")" \
    'BEGIN { printf "%-22s %-18s %12.3f %13.3f %12.3f %13.3f %6.2f\n", op, shape, a, b, c, d, (c + d) / (a + b) }'
done
