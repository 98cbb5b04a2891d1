# Functions that measure and report the time, memory and disk of stages (sourced by wmt14.sh).
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
