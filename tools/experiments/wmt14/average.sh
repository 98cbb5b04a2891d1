# Stage average: averages the newest checkpoints (sourced by wmt14.sh). The moving average of --ema is in each of them.

# Prints the checkpoints to average, newest last. A signal during the training saves a checkpoint between the regular
# ones; it is left out, so that an interrupted run ends with the same average. So is the best checkpoint, if it was
# validated between them.
regular_checkpoints() { # COUNT
  local every=1 last
  # A period in epochs (e) or tokens (t) does not show in the numbers of updates: then all checkpoints count.
  if [[ $(sed -nE 's/^save-freq *= *"(.*)"$/\1/p' train/train.toml) =~ ^([0-9]+)([KMG]?)u?$ ]]; then
    every=${BASH_REMATCH[1]}
    case ${BASH_REMATCH[2]} in K) every+=000 ;; M) every+=000000 ;; G) every+=000000000 ;; esac
  fi
  last=$(basename "$(readlink train/checkpoints/last)")
  find train/checkpoints -maxdepth 1 -type d -name 'step-*' -printf '%f\n' | sort |
    awk -F - -v every="$every" -v last="$last" '$2 % every == 0 || $0 == last' | tail -n "$1"
}

stage_average() {
  local names
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
  basename "$("$@")" > average/checkpoint.part # the command prints the folder
  mv average/checkpoint.part average/checkpoint
}
