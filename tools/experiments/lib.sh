# What several experiments need. To be sourced; $gyre is the program.
#   check_settings OUTPUT TEXT   fails if OUTPUT has results of other settings; TEXT names those of this call
#   keep_settings OUTPUT TEXT    notes the settings; to be called with the first result
#   held_out TEXT OUTPUT         divides documents separated by blank lines: the last two are OUTPUT/held-out.txt, the
#                                others OUTPUT/train.txt; existing files are kept
#   bpe_data TEXT OUTPUT PIECES  makes OUTPUT/vocab.model, joint BPE of that many pieces learned from the first 30,000
#                                lines, and OUTPUT/text.tok, a token store, unless they exist
#   check_ended RUN              fails if a signal ended the training of a run
#   has_ended RUN UPDATES        whether the training of a run reached this number of updates, and no signal ended it
#   table_head NAME COLUMN...    prints the head of a table in Markdown: a column of names, and columns of numbers

check_settings() {
  if [ -e "$1/settings" ] && [ "$(cat "$1/settings")" != "$2" ]; then
    echo "$1 has results of other settings: $(cat "$1/settings"); expected $2" >&2
    return 2
  fi
}
keep_settings() { echo "$2" > "$1/settings"; }

held_out() {
  local documents
  [ ! -e "$2/held-out.txt" ] || return 0
  documents=$(awk -v RS= 'END { print NR }' "$1")
  if [ "$documents" -lt 3 ]; then
    echo "$1: expected at least three documents separated by blank lines, got $documents" >&2
    return 1
  fi
  awk -v RS= -v ORS='\n\n' -v last=$((documents - 2)) -v rest="$2/train.part" -v held="$2/held-out.part" \
    '{ print > (NR > last ? held : rest) }' "$1"
  mv "$2/train.part" "$2/train.txt"
  mv "$2/held-out.part" "$2/held-out.txt"
}

bpe_data() {
  if [ ! -e "$2/vocab.model" ]; then
    head -n 30000 "$1" > "$2/sample.txt"
    "$gyre" vocab --input "$2/sample.txt" --type bpe --size "$3" --output "$2/vocab.model"
    rm "$2/sample.txt"
  fi
  if [ ! -e "$2/text.tok" ]; then
    "$gyre" data build --vocab "$2/vocab.model" --source "$1" --documents blank-line --output "$2/text.tok"
  fi
}

check_ended() {
  if [[ $(tail -n 1 "$1/metrics.jsonl") == *'"reason":"stopped by a signal'* ]]; then
    echo "a signal ended the training of $1; the same call goes on" >&2
    return 1
  fi
}

has_ended() {
  grep -s '"event":"end"' "$1/metrics.jsonl" | grep -v '"reason":"stopped by a signal' | grep -q "\"updates\":$2\b"
}

table_head() {
  printf '| %s |' "$1"
  printf ' %s |' "${@:2}"
  printf '\n|---|'
  printf -- '---:|%.0s' "${@:2}"
  echo
}
