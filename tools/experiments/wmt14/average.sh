# Stage average: averages the newest checkpoints (sourced by wmt14.sh). The moving average of --ema is in each of them.

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
