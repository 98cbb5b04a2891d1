# Stage store: drops pairs by length as the preparation says, and builds the token stores (sourced by wmt14.sh).

max_length=251 # 250 pieces and </s>

# Copies the lines that are not in the list of dropped pairs.
keep_lines() { # DROPPED_TSV FILE
  awk -F '\t' 'NR == FNR { if ($1 ~ /^[0-9]+$/) drop[$1]; next } !(FNR in drop)' "$1" "$2"
}

# clean-corpus-n.perl counts pieces here, because fairseq's script runs it after apply_bpe.py.
limit_lengths() { # NAME: train or valid
  local language
  for language in en de; do
    expected=$(($(bytes_of "prepare/$1.$language") * 6 / 5)) create "store/$1.pieces.$language" "$gyre" encode \
      --vocab $vocabulary --input "prepare/$1.$language" --output "store/$1.pieces.$language.part"
  done
  create_folder "store/$1.lengths" output_to "store/$1.lengths.part/report.json" "$gyre" data clean \
    --source "store/$1.pieces.en" --target "store/$1.pieces.de" \
    --output-source "store/$1.lengths.part/en" --output-target "store/$1.lengths.part/de" \
    --min-length 1 --max-length 250 --max-ratio 1.5 --max-characters 1000 --report "store/$1.lengths.part/dropped.tsv" --json
  for language in en de; do
    expected=$(bytes_of "prepare/$1.$language") create "store/$1.$language" output_to "store/$1.$language.part" \
      keep_lines "store/$1.lengths/dropped.tsv" "prepare/$1.$language"
  done
}

text_of() { # NAME
  case $preparation in fairseq) echo "store/$1" ;; *) echo "prepare/$1" ;; esac
}

stage_store() {
  local name text
  for name in train valid; do
    if [ "$preparation" = fairseq ]; then limit_lengths $name; fi
    text=$(text_of $name)
    expected=$(($(bytes_of $text.en $text.de) * 2 / 3)) create store/$name.tok "$gyre" data build --vocab $vocabulary \
      --max-length $max_length --source $text.en --target $text.de --output store/$name.tok.part
  done
  check_data
}

# Says before the training what is wrong with data and options together. Its errors (status 1) do not end this script:
# the training itself rejects what it cannot use.
check_data() {
  local tests=() train valid
  train=$(text_of train) valid=$(text_of valid)
  if [ "$overlap" = drop ]; then tests=(--test-sets prepare/newstest2014.en prepare/newstest2014.de); fi
  create store/check.txt output_to store/check.txt.part with_findings "$gyre" data check --config "$(recipe)" --no-plan \
    --train-sets "$train".{en,de} --valid-sets "$valid".{en,de} --vocab $vocabulary "${tests[@]}" "${train_options[@]}"
  sed 's/^/   /' store/check.txt >&2
}
with_findings() {
  local status=0
  "$@" || status=$?
  [ "$status" -le 1 ] || return "$status"
}

clean_up_store() {
  rm -f store/*.pieces.* store/*.lengths/en store/*.lengths/de
  rm -f store/train.en store/train.de
}
