# What several experiments need. To be sourced.
#   held_out TEXT OUTPUT  divides documents separated by blank lines: the last two are OUTPUT/held-out.txt, the others
#                         OUTPUT/train.txt; existing files are kept
#   check_ended RUN       fails if a signal ended the training of a run

held_out() {
  [ ! -e "$2/held-out.txt" ] || return 0
  awk -v RS= -v ORS='\n\n' -v rest="$2/train.part" -v held="$2/held-out.part" '
    { if (NR > 2) print before[NR % 2] > rest; before[NR % 2] = $0 }
    END { if (NR < 3) exit 1; print before[(NR + 1) % 2] > held; print before[NR % 2] > held }' "$1" ||
    { echo "$1: expected at least three documents separated by blank lines" >&2; return 1; }
  mv "$2/train.part" "$2/train.txt"
  mv "$2/held-out.part" "$2/held-out.txt"
}

check_ended() {
  if [[ $(tail -n 1 "$1/metrics.jsonl") == *'"reason":"stopped by a signal'* ]]; then
    echo "a signal ended the training of $1; the same call continues it" >&2
    return 1
  fi
}
