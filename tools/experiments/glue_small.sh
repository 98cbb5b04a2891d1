#!/usr/bin/env bash
# Measures the benefit of pretraining: fine-tunes a small pretrained encoder and the same model with random weights on
# SST-2, MRPC, STS-B and QNLI. As in the papers, each takes its best learning rate and epoch on the development set.
#   tools/experiments/glue_small.sh PRETRAINED GLUE OUTPUT [OPTIONS OF gyre train classify]...
# PRETRAINED: a run of gyre train mlm. GLUE contains SST-2/{train,dev}.tsv, MRPC/msr_paraphrase_{train,test}.txt,
# STS-B/{train,dev}.tsv with columns sentence1, sentence2 and score, and QNLI/{train,dev}.tsv. OUTPUT gets all runs and
# scores.tsv. Environment: SEEDS="1 2 3", RATES="1e-4 3e-4", TASKS="sst2 mrpc stsb qnli", WEIGHTS="pretrained scratch".
# Existing results are kept, so the script resumes.
set -euo pipefail
here=$(dirname "$0")
if [ $# -lt 3 ]; then
  sed -n '4,8s/^# *//p' "$0" >&2
  exit 2
fi
pretrained=$1
glue=$2
output=$3
shift 3
gyre=${GYRE:-build/gyre}

command_of() { case $1 in sst2) echo classify ;; mrpc | qnli) echo pair ;; stsb) echo regress ;; esac; }
metric_of() { case $1 in sst2 | qnli) echo accuracy ;; mrpc) echo f1 ;; stsb) echo spearman ;; esac; }
files_of() { # TRAINING VALIDATION
  case $1 in
    sst2) echo "$glue/SST-2/train.tsv" "$glue/SST-2/dev.tsv" ;;
    mrpc) echo "$glue/MRPC/msr_paraphrase_train.txt" "$glue/MRPC/msr_paraphrase_test.txt" ;;
    stsb) echo "$glue/STS-B/train.tsv" "$glue/STS-B/dev.tsv" ;;
    qnli) echo "$glue/QNLI/train.tsv" "$glue/QNLI/dev.tsv" ;;
  esac
}

mkdir -p "$output"
for task in ${TASKS:-sst2 mrpc stsb qnli}; do
  read -r training validation <<< "$(files_of "$task")"
  options=(--max-length 128 --precision auto "$@")
  # MRPC is distributed with and without a header line.
  if [ "$task" = mrpc ] && ! head -n 1 "$training" | grep -q Quality; then options+=(--no-header); fi
  for rate in ${RATES:-1e-4 3e-4}; do
    for seed in ${SEEDS:-1 2 3}; do
      for weights in ${WEIGHTS:-pretrained scratch}; do
        run=$output/$task-$weights-$rate-$seed
        start=()
        if [ "$weights" = scratch ]; then start=(--from-scratch); fi
        "$gyre" train "$(command_of "$task")" --config "$here/../recipes/glue.toml" --preset "glue-$task" --pretrained-model "$pretrained" \
          "${start[@]}" --train-sets "$training" --valid-sets "$validation" --learn-rate "$rate" --seed "$seed" --model "$run" \
          "${options[@]}" --quiet
        best=$(sed -n "s/.*\"event\":\"end\".*\"best\":{.*\"$(metric_of "$task")\":\([0-9.e-]*\).*/\1/p" "$run/metrics.jsonl" | tail -n 1)
        printf '%s\t%s\t%s\t%s\t%s\n' "$task" "$weights" "$rate" "$seed" "$best"
      done
    done
  done
done | tee "$output/scores.tsv"

# Print the mean over the seeds at the best learning rate.
awk -F'\t' '{ sum[$1 FS $2 FS $3] += $5; n[$1 FS $2 FS $3]++ }
  END { for (k in sum) { split(k, part, FS); mean = sum[k] / n[k]; arm = part[1] " " part[2]
          if (!(arm in best) || mean > best[arm]) { best[arm] = mean; rate[arm] = part[3] } }
        for (arm in best) printf "%s: %.4f at %s\n", arm, best[arm], rate[arm] }' "$output/scores.tsv" | sort
