#!/usr/bin/env bash
# Fine-tunes a pretrained encoder on tasks of GLUE, beside the same model with random weights or the same weights in
# Hugging Face transformers. As in the papers, each takes its best learning rate and epoch on the development set.
#   tools/experiments/glue.sh PRETRAINED GLUE OUTPUT [OPTIONS OF gyre train classify]...
# PRETRAINED: a run of gyre train mlm or gyre import. GLUE contains {CoLA,SST-2,RTE,QNLI}/{train,dev}.tsv,
# MRPC/msr_paraphrase_{train,test}.txt, and STS-B/{train,dev}.tsv with columns sentence1, sentence2 and score. OUTPUT
# gets all runs, scores.tsv and table.md. Existing results are kept, so the script resumes. Environment:
#   SEEDS="1 2 3"  RATES="1e-4 3e-4"  TASKS="sst2 mrpc stsb qnli", of these, cola and rte
#   ARMS="pretrained scratch", of these and transformers (fp32, without further options), for which PEER is the directory
#   of the model, and PYTHON (python3) has torch and transformers
set -euo pipefail
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 3 ]; then
  sed -n '4,10s/^# *//p' "$0" >&2
  exit 2
fi
pretrained=$1
glue=$2
output=$3
shift 3
gyre=${GYRE:-build/gyre}
read -ra tasks <<< "${TASKS:-sst2 mrpc stsb qnli}"
read -ra rates <<< "${RATES:-1e-4 3e-4}"
read -ra seeds <<< "${SEEDS:-1 2 3}"
read -ra arms <<< "${ARMS:-pretrained scratch}"
shopt -s inherit_errexit

command_of() { case $1 in cola | sst2) echo classify ;; mrpc | rte | qnli) echo pair ;; stsb) echo regress ;; esac; }
metric_of() { case $1 in sst2 | rte | qnli) echo accuracy ;; mrpc) echo f1 ;; cola) echo matthews ;; stsb) echo spearman ;; esac; }
files_of() { # TRAINING VALIDATION
  case $1 in
    cola) echo "$glue"/CoLA/{train,dev}.tsv ;;
    sst2) echo "$glue"/SST-2/{train,dev}.tsv ;;
    mrpc) echo "$glue"/MRPC/msr_paraphrase_{train,test}.txt ;;
    rte) echo "$glue"/RTE/{train,dev}.tsv ;;
    qnli) echo "$glue"/QNLI/{train,dev}.tsv ;;
    stsb) echo "$glue"/STS-B/{train,dev}.tsv ;;
    *) echo "TASKS: expected some of cola, sst2, mrpc, rte, qnli and stsb, got $1" >&2 && exit 2 ;;
  esac
}

for task in "${tasks[@]}"; do files_of "$task" > /dev/null; done
precision=auto
for arm in "${arms[@]}"; do
  case $arm in
    pretrained | scratch) ;;
    transformers)
      precision=fp32
      [ -n "${PEER-}" ] && [ $# -eq 0 ] || { echo "ARMS: transformers needs PEER, and no further options" >&2; exit 2; }
      ;;
    *) echo "ARMS: expected some of pretrained, scratch and transformers, got $arm" >&2 && exit 2 ;;
  esac
done

# Prints the best score of the task, the seconds of training with validation, and the MiB of memory without mapped files.
fine_tune() { # ARM TASK RATE SEED [OPTIONS]...
  local arm=$1 task=$2 rate=$3 seed=$4 run=$output/$2-$1-$3-$4 files training validation start=()
  shift 4
  files=$(files_of "$task")
  read -r training validation <<< "$files"
  if [ "$arm" = transformers ]; then
    if [ ! -e "$run.json" ]; then
      env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "${PYTHON:-python3}" "$here/../bench/peers/transformers_glue.py" \
        --model "$PEER" --task "$task" --train "$training" --valid "$validation" --learn-rate "$rate" --seed "$seed" > "$run.part"
      mv "$run.part" "$run.json"
    fi
    sed -nE 's/.*"best": ([0-9.e-]+), "seconds": ([0-9.]+), "mib": ([0-9.]+).*/\1\t\2\t\3/p' "$run.json"
    return
  fi
  # MRPC is distributed with and without a header line.
  if [ "$task" = mrpc ] && ! head -n 1 "$training" | grep -q Quality; then start+=(--no-header); fi
  if [ "$arm" = scratch ]; then start+=(--from-scratch); fi
  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$gyre" train "$(command_of "$task")" --config "$here/../recipes/glue.toml" \
    --preset "glue-$task" --pretrained-model "$pretrained" "${start[@]}" --train-sets "$training" \
    --valid-sets "$validation" --max-length 128 --precision "$precision" --learn-rate "$rate" --seed "$seed" --model "$run" --quiet "$@" > "$run.log" 2>&1 ||
    { cat "$run.log" >&2; exit 1; }
  check_ended "$run"
  end() { sed -nE "s/.*\"event\":\"end\".*$1([0-9.e-]+).*/\1/p" "$run/metrics.jsonl" | tail -n 1; } # the last that has it
  printf '%s\t%s\t%s\n' "$(end "\"best\":\{.*\"$(metric_of "$task")\":")" "$(end '"seconds":')" "$(end '"memory_mb":')"
}

mkdir -p "$output"
for task in "${tasks[@]}"; do
  for rate in "${rates[@]}"; do
    for seed in "${seeds[@]}"; do
      for arm in "${arms[@]}"; do
        begin=$SECONDS
        scores=$(fine_tune "$arm" "$task" "$rate" "$seed" "$@")
        [[ $scores =~ ^-?[0-9] ]] || { echo "$task, $arm, $rate, seed $seed: no score" >&2; exit 1; }
        printf '%s\t%s\t%s\t%s\t%s\n' "$task" "$arm" "$rate" "$seed" "$scores"
        echo "$task, $arm, $rate, seed $seed: $((SECONDS - begin)) s" >&2
      done
    done
  done
done | tee "$output/scores.tsv"

# Prints the mean over the seeds at the best learning rate, and the standard deviation.
awk -F'\t' '{ key = $1 FS $2 FS $3; sum[key] += $5; squares[key] += $5 * $5; n[key]++; seconds[key] += $6; memory[key] = $7 }
  END { print "| task | arm | rate | mean | deviation | seconds | MiB |"; print "|---|---|---:|---:|---:|---:|---:|"; fflush()
        for (k in sum) { split(k, part, FS); mean = sum[k] / n[k]; arm = part[1] FS part[2]
          if (!(arm in best) || mean > best[arm]) { best[arm] = mean; at[arm] = k } }
        for (arm in best) { k = at[arm]; split(k, part, FS); left = squares[k] / n[k] - best[arm] ^ 2
          deviation = (n[k] > 1 && left > 0) ? sqrt(left * n[k] / (n[k] - 1)) : 0
          printf("| %s | %s | %s | %.4f | %.4f | %.0f | %.0f |\n", part[1], part[2], part[3], best[arm], deviation,
            seconds[k] / n[k], memory[k]) | "sort" } }' \
  "$output/scores.tsv" | tee "$output/table.md"
