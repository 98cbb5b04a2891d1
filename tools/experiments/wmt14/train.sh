# The stages train and average (sourced by wmt14.sh).

# Stage train: trains, or continues the run in its folder.

recipe() { echo "$root/tools/recipes/wmt14-$size.toml"; }

# Options in which the papers differ from the recipe: Vaswani et al. (2017), section 6.1, and Shaw et al. (2018), 4.1.
options_of_papers() {
  if [ "$size-$pair" = big-en-fr ]; then echo --transformer-dropout 0.1; fi
  if [ "$size-$position" = big-shaw ]; then echo --shaw-clip 8; fi
}

uses_ema() { if [ "$average" = ema ]; then echo yes; else echo no; fi; }

# --keep-last, if the recipe keeps too few checkpoints for the average. Five more are kept, because the best checkpoint
# and those of signals may be between the ones to average.
keep_enough() {
  local kept
  kept=$(sed -n 's/^keep-last = //p' "$(recipe)")
  if [ "$average" != ema ] && [ $((${average#last} + 5)) -gt "$kept" ]; then
    echo --keep-last $((${average#last} + 5))
  fi
}

stage_train() {
  local launcher=() options=()
  # shellcheck disable=SC2207
  options=($(options_of_papers) $(keep_enough))
  if [ "$ranks" -gt 1 ]; then launcher=("$root/tools/scripts/mpirun.sh" -n "$ranks"); fi
  # The validation data of fairseq is as large as 13 test sets. It serves the loss only.
  if [ "$preparation" = fairseq ]; then options+=(--valid-metrics cross-entropy); fi
  if [ "$average" = ema ]; then options+=(--ema 0.999); fi
  if [ "$device" != cpu ]; then options+=(--device "$device"); fi
  keep_other_run
  set -- "${launcher[@]}" "$gyre" train nmt --config "$(recipe)" --position "$position" --train-sets store/train.tok \
    --valid-sets store/valid.tok --vocab $vocabulary --model train "${options[@]}" "${train_options[@]}"
  record "$@"
  "$@" || fail "training ended with status $?; the same call continues it"
  case $(tail -n 1 train/metrics.jsonl) in
    *'"reason":"stopped by a signal'*) fail "a signal ended the training; the same call continues it" ;;
    *'"event":"end"'*) ;;
    *) fail "train/metrics.jsonl: expected the end of the training in the last line" ;;
  esac
}

# A run continues with other options of training, or gyre says why it cannot. A run with other data or another model is
# kept under another name.
keep_other_run() {
  local inputs
  inputs=$(stamp_of train | grep -v '^options ')
  if [ -e train/metrics.jsonl ] && [ -e train/inputs.log ] && [ "$(cat train/inputs.log)" != "$inputs" ]; then
    say "   the run has other data or another model"
    keep_run
    mkdir train
  fi
  echo "$inputs" > train/inputs.log
}

keep_run() {
  local number=1
  while [ -e "train-$number" ]; do number=$((number + 1)); done
  say "   the former run is kept as train-$number"
  mv train "train-$number"
}

# Only --redo train deletes a run. With other options of training it continues.
discard_train() {
  if [[ " $redo " == *" train "* ]]; then
    remove train
  elif [[ " $redo_after " == *" train "* ]] && [ -e train/metrics.jsonl ]; then
    keep_run
  fi
}

# Stage average: averages the newest checkpoints. The moving average of --ema is in each of them.

last_checkpoint() { basename "$(readlink train/checkpoints/last || true)"; } # empty without a run

# Prints the checkpoints to average, newest last. A signal during the training saves a checkpoint between the regular
# ones; it is left out, so that an interrupted run ends with the same average. So is the best checkpoint, if it was
# validated between them.
regular_checkpoints() { # COUNT
  local every=1
  # A period in epochs (e) or tokens (t) does not show in the numbers of updates: then all checkpoints count.
  if [[ $(sed -nE 's/^save-freq *= *"(.*)"$/\1/p' train/train.toml) =~ ^([0-9]+)([KMG]?)u?$ ]]; then
    every=${BASH_REMATCH[1]}
    case ${BASH_REMATCH[2]} in K) every+=000 ;; M) every+=000000 ;; G) every+=000000000 ;; esac
  fi
  find train/checkpoints -maxdepth 1 -type d -name 'step-*' -printf '%f\n' | sort |
    awk -F - -v every="$every" -v last="$(last_checkpoint)" '$2 % every == 0 || $0 == last' | tail -n "$1"
}

stage_average() {
  local names folder
  if [ "$average" = ema ]; then
    echo last > average/checkpoint
    return
  fi
  [ -e train/train.toml ] || fail "expected a run in the folder train, got none"
  mapfile -t names < <(regular_checkpoints "${average#last}")
  [ ${#names[@]} -eq "${average#last}" ] ||
    fail "expected ${average#last} checkpoints to average in train/checkpoints, got ${#names[@]}; --average lastN" \
      "takes fewer"
  set -- "$gyre" checkpoint average --model train --checkpoints "${names[@]}"
  record "$@"
  folder=$("$@")
  basename "$folder" > average/checkpoint.part
  mv average/checkpoint.part average/checkpoint
}
