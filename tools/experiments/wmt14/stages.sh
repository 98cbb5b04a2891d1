# Functions that decide which stages run, and resume them (sourced by wmt14.sh).
#
# .stages/NAME.stamp holds the options of a finished stage and a digest of the stamp of the stage before it.
# .stages/NAME.begun holds the same of a stage that began; its files are complete or end in .part.
# .stages/NAME.repetition counts how often --from or --redo asked for the stage. It is part of the stamp, so that later
# stages follow, even if the call that asked was interrupted.

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$stage: $*"
  exit 1
}

# Children inherit the lock. After this script alone was killed, its children end before a new call begins to write.
lock_output() {
  exec {lock}> .stages/lock
  if ! flock -n "$lock"; then
    say "$out: waiting for the processes of another call to end"
    flock "$lock"
  fi
}

digest_of_input() { sha256sum | cut -d ' ' -f 1; }

options_of() { # STAGE: the options on which its results depend
  case $1 in
    fetch) echo "news-commentary $news"
      echo "digests $(cut -d ' ' -f 1,4 <<< "$archives" | digest_of_input)" ;;
    prepare) echo "preparation $preparation" && echo "test overlap $overlap" ;;
    vocab) echo "size $vocab_size"
      if [ "$preparation" = tensor2tensor ]; then echo "sample lines $sample_lines"; fi ;;
    store) ;;
    train) echo "model $size $position" && echo "moving average $(uses_ema)" && echo "options ${train_options[*]@Q}" ;;
    average) echo "average $average" && echo "checkpoint $(last_checkpoint)" ;;
    translate | score) ;;
  esac
}

stage_before() { # STAGE
  local name before=''
  for name in $all_stages; do
    if [ "$name" = "$1" ]; then break; fi
    before=$name
  done
  echo "$before"
}

stamp_of() { # STAGE
  local before
  before=$(stage_before "$1")
  options_of "$1"
  if [ -e ".stages/$1.repetition" ]; then echo "repetition $(cat ".stages/$1.repetition")"; fi
  if [ -n "$before" ]; then echo "$before $(stamp_of "$before" | digest_of_input)"; fi
}

# Prints the first words of the lines in which a former stamp differs: options, or the stage before.
changes() { # STAGE FORMER
  diff <(stamp_of "$1") "$2" | sed -n 's/^[<>] \([^ ]*\).*/\1/p' | sort -u | paste -sd ' '
}

run_stage() { # STAGE
  stage=$1
  local stamp=.stages/$stage.stamp begun=.stages/$stage.begun
  if [[ " $skip " == *" $stage "* ]]; then
    say "== $stage: skipped (--skip), its files are taken as they are"
    return
  fi
  if [[ " $redo $redo_after " == *" $stage "* ]]; then
    say "== $stage: to be redone"
    count_repetition
    discard
  elif [ -e "$stamp" ] && cmp -s "$stamp" <(stamp_of "$stage"); then
    say "== $stage: done before"
    clean_up # if it was killed here
    return
  elif [ -e "$begun" ] && ! cmp -s "$begun" <(stamp_of "$stage"); then
    say "== $stage: redone, because of changes in: $(changes "$stage" "$begun")"
    discard
  elif [ -e "$begun" ]; then
    say "== $stage: resumed"
  fi
  require_inputs
  rm -f "$stamp"
  mkdir -p "$stage"
  stamp_of "$stage" > "$begun.part"
  mv "$begun.part" "$begun"
  : > ".stages/$stage.commands"
  begin_usage
  "stage_$stage"
  end_usage
  cp "$begun" "$stamp.part"
  mv "$stamp.part" "$stamp"
  clean_up
}

# Archives stay the same: their digests decide.
count_repetition() {
  local file=.stages/$stage.repetition
  if [ "$stage" = fetch ]; then return; fi
  echo $(($(cat "$file" 2> /dev/null || echo 0) + 1)) > "$file.part"
  mv "$file.part" "$file"
}

# Removes files that no later stage needs.
clean_up() {
  if declare -F "clean_up_$stage" > /dev/null; then "clean_up_$stage"; fi
}

# Fails unless the stage before is done with the present options, or skipped.
require_inputs() {
  local before
  before=$(stage_before "$stage")
  if [ -z "$before" ] || [[ " $skip " == *" $before "* ]]; then return; fi
  cmp -s ".stages/$before.stamp" <(stamp_of "$before") ||
    fail "expected stage $before to be done with these options; run it first"
}

# Removes the results of a stage. Archives are kept, because their digests are checked, and so is a trained model.
# The stamps go last: until then, a later call finds the former options and discards again.
discard() {
  if declare -F "discard_$stage" > /dev/null; then "discard_$stage"; else remove "$stage"; fi
  rm -f ".stages/$stage.stamp" ".stages/$stage.begun" ".stages/$stage.usage"
}

# Removes a folder so that an interruption does not leave a part of it.
remove() {
  rm -rf .stages/removed
  if [ -e "$1" ]; then mv "$1" .stages/removed; fi
  rm -rf .stages/removed
}
