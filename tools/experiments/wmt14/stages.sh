# The stages of wmt14.sh: which are due, what they may use, and how they make files (sourced by wmt14.sh).

# Functions that decide which stages run, and resume them.
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
    fetch) if [ "$pair" != en-de ]; then echo "pair $pair"; fi # stamps of older versions have none
      echo "news-commentary $news"
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

# Functions that measure and report the time, memory and disk of stages.
#
# .stages/NAME.usage holds the seconds and the peak memory in KiB of a stage over all calls.

minutes() { printf '%d:%02d:%02d' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60)); }
require_space() { # BYTES FILE: fails unless the file system of the current folder has as many bytes left
  local free
  free=$(df --output=avail --block-size=1 . | tail -n 1)
  [ "$free" -ge "$1" ] || fail "$2 needs $(megabytes "$1"), and $PWD has $(megabytes "$free") left"
}
megabytes() { awk -v bytes="$1" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }
# A file that does not exist has no bytes.
bytes_of() { { du -sbc "$@" 2> /dev/null || true; } | awk 'END { print $1 + 0 }'; }

# Memory in KiB of this script and its descendants: the sum of the peaks of those that run now.
tree_memory() {
  { cat /proc/[0-9]*/status 2> /dev/null || true; } | awk -v root="$$" '
    $1 == "Pid:" { pid = $2 }
    $1 == "PPid:" { parent[pid] = $2 }
    $1 == "VmHWM:" { peak[pid] = $2 }
    END { for (p in peak) { for (q = p; q != root && (q in parent); q = parent[q]); if (q == root) sum += peak[p] }
          print sum + 0 }'
}

# begin_file TARGET BYTES: names the file of which print_progress() reports. BYTES: its expected size; 0: unknown
begin_file() {
  printf '%s\t%s\t%s\n' "$1" "$2" "$(date +%s)" > .stages/current.part
  mv .stages/current.part .stages/current
}

# Prints the progress of the present file, from its size and the expected size.
print_progress() {
  local target expected begun size elapsed
  { IFS=$'\t' read -r target expected begun < .stages/current; } 2> /dev/null || return 0
  elapsed=$(($(date +%s) - begun))
  [ "$elapsed" -ge 5 ] || return 0
  # gyre writes a regular file under a hidden name first.
  size=$(bytes_of "$target.part"* "$(dirname "$target")/.$(basename "$target").part"*)
  if [ "$expected" -gt 0 ] && [ "$size" -gt 0 ] && [ "$size" -lt "$expected" ]; then
    say "   $target: $(megabytes "$size") of about $(megabytes "$expected"), $(minutes "$elapsed") elapsed," \
      "about $(minutes $((elapsed * (expected - size) / size))) left"
  else
    say "   $target: $(megabytes "$size"), $(minutes "$elapsed") elapsed"
  fi
}

# The seconds and the peak memory of a stage so far; zeros if a crash of the machine left no record.
usage_of() { grep -E '^[0-9]+ [0-9]+$' ".stages/$1.usage" 2> /dev/null || echo 0 0; }
write_usage() { # SECONDS KIB
  echo "$1 $2" > ".stages/$stage.usage.part"
  mv ".stages/$stage.usage.part" ".stages/$stage.usage"
}

watch_stage() { # BASE_SECONDS BASE_KIB: runs in the background until this script ends
  local seconds peak=$2 now ticks=0 begun
  begun=$(date +%s)
  while [ -d "/proc/$$" ]; do
    now=$(tree_memory)
    if [ "$now" -gt "$peak" ]; then peak=$now; fi
    seconds=$(($1 + $(date +%s) - begun))
    write_usage "$seconds" "$peak"
    sleep 1
    ticks=$((ticks + 1))
    if [ $((ticks % 15)) -eq 0 ]; then print_progress; fi
  done
}

begin_usage() {
  local seconds=0 peak=0
  read -r seconds peak <<< "$(usage_of "$stage")"
  write_usage "$seconds" "$peak"
  say "== $stage: started $(date '+%F %T')"
  rm -f .stages/current
  watch_stage "$seconds" "$peak" {lock}>&- &
  watcher=$!
}

end_usage() {
  local seconds peak
  { kill "$watcher" && wait "$watcher"; } 2> /dev/null || true
  rm -f .stages/current
  read -r seconds peak <<< "$(usage_of "$stage")"
  say "== $stage: done in $(minutes "$seconds"), peak memory $(megabytes $((peak * 1024)))," \
    "disk $(megabytes "$(bytes_of "$stage")")"
}
trap 'kill "${watcher:-}" 2> /dev/null || true' EXIT

summarize() {
  local name seconds peak
  {
    printf '%-10s %9s %13s %13s\n' stage time memory disk
    for name in $all_stages; do
      [ -e ".stages/$name.usage" ] || continue
      read -r seconds peak <<< "$(usage_of "$name")"
      printf '%-10s %9s %13s %13s\n' "$name" "$(minutes "$seconds")" "$(megabytes $((peak * 1024)))" \
        "$(megabytes "$(bytes_of "$name")")"
    done
  } > .stages/summary.part
  mv .stages/summary.part summary.txt
  cat summary.txt
}

# Functions that create files so that an interrupted call leaves none that is incomplete.

# Records a command line for the bundle: paths relative to OUTPUT, final names, and gyre by its name.
record() {
  local output='' line
  while :; do
    case $1 in
      in_new_folder) shift 2 ;;
      with_findings) shift ;;
      output_to) output=" > $2" && shift 2 ;;
      *) break ;;
    esac
  done
  line="${*@Q}$output"
  line=${line//"$gyre"/gyre}
  line=${line//"$root/"/}
  line=${line//.part/}
  sed -E "s/'([A-Za-z0-9_.,:=+@/-]+)'/\1/g" <<< "$line" >> ".stages/$stage.commands"
}

# create TARGET COMMAND...: creates a file or folder unless it exists. The command writes TARGET.part. The size of the
# target in bytes, for the progress, comes from the variable `expected` if it is set.
create() {
  local target=$1 status
  shift
  record "$@"
  if [ -e "$target" ]; then return; fi
  rm -rf "$target.part"
  begin_file "$target" "${expected:-0}"
  say "   $target"
  set +e # a function in a condition would ignore its failing commands
  (set -e; "$@")
  status=$?
  set -e
  [ "$status" -eq 0 ] || fail "$target was not created; its command ended with status $status"
  mv "$target.part" "$target"
  rm -f .stages/current
}

# create_folder TARGET COMMAND...: likewise for a folder, which exists before the command begins.
create_folder() {
  create "$1" in_new_folder "$1.part" "${@:2}"
}
in_new_folder() {
  mkdir -p "$1"
  "${@:2}"
}

# output_to FILE COMMAND...: writes the standard output of the command to a file.
output_to() { "${@:2}" > "$1"; }
