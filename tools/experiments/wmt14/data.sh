# The stages that make the data: fetch, prepare, vocab and store (sourced by wmt14.sh).

# Stage fetch: downloads the archives, resumes interrupted transfers, and compares the digests.

# Prints "FILE BYTES ALGORITHM DIGEST ADDRESS" of each archive that the options need.
list_archives() {
  local file bytes algorithm digest address
  while read -r file bytes algorithm digest address; do
    case $file in
      '#'*) continue ;;
      training-parallel-un.tgz | training-giga-fren.tar) [ "$pair" = en-fr ] || continue ;;
      training-parallel-nc-v*) [ "$file" = "training-parallel-nc-$news.tgz" ] || continue ;;
    esac
    if [ -n "$mirror" ]; then address=$mirror/$file; fi
    if [ -n "$digests" ]; then
      bytes=- algorithm=sha256
      digest=$(awk -v file="$file" '$2 == file || $2 == "*" file { print $1; exit }' "$digests")
      [[ $digest =~ ^[0-9a-f]{64}$ ]] || usage "$digests: expected a line with the SHA-256 digest of $file"
    fi
    echo "$file $bytes $algorithm $digest $address"
  done < "$stage_scripts/archives.tsv"
}
archives=$(list_archives)

is_genuine() { # FILE ALGORITHM DIGEST
  [ -s "$1" ] && [ "$("${2}sum" < "$1" | cut -d ' ' -f 1)" = "$3" ]
}
size_of() { stat -c %s "$1" 2> /dev/null || echo 0; }

# Downloads to FILE.part, from its present end on, until the server has no more. Ends with status 0 when the transfer is
# complete; the digest decides whether its bytes are right.
transfer() { # FILE BYTES ADDRESS
  local part=$1.part bytes=$2 address=$3 most=0 status code idle=0
  while [ "$bytes" = - ] || [ "$(size_of "$part")" -lt "$bytes" ]; do
    if [ "$(size_of "$part")" -gt "$most" ]; then most=$(size_of "$part"); fi
    status=0
    code=$(curl --silent --show-error --fail --location --connect-timeout 30 --speed-limit 1000 --speed-time "$stall" \
      --continue-at - --write-out '%{http_code}' --output "$part" "$address") || status=$?
    case $status-$code in
      0-*) return ;;
      *-416) return ;;                        # nothing is left to send
      33-* | 36-*) rm -f "$part" ;;           # the server cannot resume, or the file of the mirror is shorter
      22-408 | 22-429) ;;                     # the server asks for another attempt
      22-4?? | 3-* | 6-* | 23-* | 37-* | 78-*) fail "$address: curl ended with status $status, HTTP status $code" ;;
    esac
    if [ "$(size_of "$part")" -gt "$most" ]; then idle=0; else idle=$((idle + 1)); fi
    [ "$idle" -lt 5 ] || fail "$address: no progress in 5 attempts; the last one ended with curl's status $status"
    say "   $1: interrupted after $(megabytes "$(size_of "$part")"), continuing"
    sleep "$idle"
  done
}

fetch_archive() { # FILE BYTES ALGORITHM DIGEST ADDRESS
  local file=fetch/$1 attempt found
  for attempt in first second; do
    transfer "$file" "$2" "$5"
    if is_genuine "$file.part" "$3" "$4"; then return; fi
    found="$(size_of "$file.part") bytes with the $3 digest $("${3}sum" < "$file.part" | cut -d ' ' -f 1)"
    rm -f "$file.part"
    if [ "$attempt" = first ]; then say "   $1: expected the $3 digest $4, got $found; fetching it again"; fi
  done
  fail "$5: expected a file with the $3 digest $4, got $found, twice"
}

stage_fetch() {
  local file bytes algorithm digest address
  command -v curl > /dev/null || (cd "$root" && tools/scripts/setup.sh curl >&2)
  while read -r file bytes algorithm digest address; do
    echo "curl --location --continue-at - --output fetch/$file ${address/#"$mirror"\//MIRROR/}" >> .stages/fetch.commands
    if [ -e "fetch/$file" ]; then
      if is_genuine "fetch/$file" "$algorithm" "$digest"; then continue; fi
      say "   $file: not the file with the $algorithm digest $digest; fetching it again"
      rm -f "fetch/$file"
    fi
    begin_file "fetch/$file" "${bytes/#-/0}"
    say "   fetch/$file from $address"
    if [ "$bytes" != - ]; then require_space $((bytes - $(size_of "fetch/$file.part"))) "fetch/$file"; fi
    fetch_archive "$file" "$bytes" "$algorithm" "$digest" "$address" < /dev/null
    mv "fetch/$file.part" "fetch/$file"
    rm -f .stages/current
  done <<< "$archives"
}

discard_fetch() { :; } # the digests decide

# Stage prepare: extracts the text, removes training pairs that are in a test set, and tokenizes.

test_sets="newstest2013 newstest2014 newstest2014-filtered"

# "ARCHIVE CORPUS" in the order of fairseq's scripts. The archives name the languages in the other order.
list_corpora() {
  echo "europarl-v7.tgz training/europarl-v7.$tgt-en"
  echo "commoncrawl.tgz commoncrawl.$tgt-en"
  if [ "$pair" = en-fr ]; then echo "un.tgz un/undoc.2000.fr-en"; fi
  echo "nc-$news.tgz training/news-commentary-$news.$tgt-en"
  if [ "$pair" = en-fr ]; then echo "giga-fren.tar giga-fren.release2.fixed"; fi
}

extract_corpora() {
  local archive corpus language
  while read -r archive corpus; do
    case $archive in
      *.tgz) tar -xzf "fetch/training-parallel-$archive" -C prepare/raw.part "$corpus.$src" "$corpus.$tgt" ;;
      *.tar)
        for language in "$src" "$tgt"; do
          tar -xOf "fetch/training-$archive" --wildcards "*$corpus.$language.gz" |
            gzip -dc > "prepare/raw.part/$corpus.$language"
        done ;;
    esac
  done < <(list_corpora)
}

# The text of <seg> elements. Like sacreBLEU, this squeezes white space and keeps entities as they are.
segments() { # ARCHIVE MEMBER
  tar -xzOf "fetch/$1" "$2" | LC_ALL=C sed -n 's/.*<seg[^>]*>\(.*\)<\/seg>.*/\1/p' |
    LC_ALL=C sed 's/\xC2\xA0/ /g; s/[[:space:]][[:space:]]*/ /g; s/^ //; s/ $//'
}

lines_of() { wc -l < "$1"; }
extract_tests() {
  local language side name sources targets
  for language in "$src" "$tgt"; do
    if [ "$language" = "$src" ]; then side=src; else side=ref; fi
    tar -xzOf fetch/dev.tgz "dev/newstest2013.$language" > "prepare/tests.part/newstest2013.$language"
    name=newstest2014-${tgt}en-$side.$language.sgm
    segments test-full.tgz "test-full/$name" > "prepare/tests.part/newstest2014.$language"
    segments test-filtered.tgz "test/$name" > "prepare/tests.part/newstest2014-filtered.$language"
  done
  for name in $test_sets; do
    sources=$(lines_of "prepare/tests.part/$name.$src") targets=$(lines_of "prepare/tests.part/$name.$tgt")
    if [ "$sources" -eq 0 ] || [ "$sources" -ne "$targets" ]; then
      fail "$name: expected as many sentences in $tgt as in $src, got $targets and $sources"
    fi
    say "   $name: $sources sentence pairs"
  done
}

# Validation data of fairseq is every 100th pair of the corpus, or every 1,333rd of the larger one with French. That of
# tensor2tensor is newstest2013.
clean_corpora() {
  local options=() name language corpora
  mapfile -t corpora < <(list_corpora | sed 's|.* |prepare/raw/|')
  if [ "$overlap" = drop ]; then
    options+=(--exclude)
    for name in $test_sets; do options+=("prepare/tests/$name.$src" "prepare/tests/$name.$tgt"); done
  fi
  if [ "$preparation" = fairseq ]; then
    case $pair in en-fr) options+=(--holdout-every 1333) ;; *) options+=(--holdout-every 100) ;; esac
    options+=(--holdout-source "prepare/clean.part/valid.$src" --holdout-target "prepare/clean.part/valid.$tgt")
  fi
  expected=$(bytes_of prepare/raw) create_folder prepare/clean output_to prepare/clean.part/report.json "$gyre" data clean \
    --source "${corpora[@]/%/.$src}" --target "${corpora[@]/%/.$tgt}" \
    --output-source "prepare/clean.part/train.$src" --output-target "prepare/clean.part/train.$tgt" \
    --report prepare/clean.part/dropped.tsv --json "${options[@]}"
}

tokenize() { # LANGUAGE INPUT OUTPUT OPTION...
  expected=$(bytes_of "$2") create "$3" "$gyre" data tokenize --language "$1" --aggressive-hyphens "${@:4}" \
    --input "$2" --output "$3.part"
}

prepare_fairseq() {
  local language name text
  for language in "$src" "$tgt"; do
    for name in train valid; do
      tokenize "$language" "prepare/clean/$name.$language" "prepare/$name.$language" \
        --normalize-punctuation --remove-non-printing
    done
    # Training text has no right single quotes any more, because their normal form is '.
    for name in $test_sets; do
      text=prepare/tests/$name.quotes.$language
      create "$text" output_to "$text.part" sed "s/’/'/g" "prepare/tests/$name.$language"
      tokenize "$language" "$text" "prepare/$name.$language"
    done
  done
}

prepare_tensor2tensor() {
  local language name
  for language in "$src" "$tgt"; do
    create "prepare/train.$language" ln "prepare/clean/train.$language" "prepare/train.$language.part"
    create "prepare/valid.$language" ln "prepare/tests/newstest2013.$language" "prepare/valid.$language.part"
    for name in $test_sets; do
      create "prepare/$name.$language" ln "prepare/tests/$name.$language" "prepare/$name.$language.part"
    done
  done
}

stage_prepare() {
  create_folder prepare/raw extract_corpora
  create_folder prepare/tests extract_tests
  clean_corpora
  "prepare_$preparation"
  say "   $(lines_of "prepare/train.$src") training pairs, $(lines_of "prepare/valid.$src") validation pairs"
}
# The archives have the raw text.
clean_up_prepare() {
  rm -rf prepare/raw
  rm -f prepare/clean/*."$src" prepare/clean/*."$tgt"
}

# Stage vocab: learns the joint vocabulary of both languages.

vocabulary=vocab/joint/joint.vocab

stage_vocab() {
  local options
  case $preparation in
    fairseq) options=(--type subword-nmt --merges "$vocab_size" --codes-output vocab/joint.part/codes) ;;
    tensor2tensor)
      options=(--type bpe --size "$vocab_size" --sample-lines "$sample_lines" --character-coverage 1) ;;
  esac
  create_folder vocab/joint "$gyre" vocab "${options[@]}" --input "prepare/train.$src" "prepare/train.$tgt" \
    --output vocab/joint.part/joint.vocab
}

# Stage store: drops pairs by length as the preparation says, and builds the token stores.

max_length=251 # 250 pieces and </s>

# Copies the lines that are not in the list of dropped pairs.
keep_lines() { # DROPPED_TSV FILE
  awk -F '\t' 'NR == FNR { if ($1 ~ /^[0-9]+$/) drop[$1]; next } !(FNR in drop)' "$1" "$2"
}

# clean-corpus-n.perl counts pieces here, because fairseq's script runs it after apply_bpe.py.
limit_lengths() { # NAME: train or valid
  local language
  for language in "$src" "$tgt"; do
    expected=$(($(bytes_of "prepare/$1.$language") * 6 / 5)) create "store/$1.pieces.$language" "$gyre" encode \
      --vocab $vocabulary --input "prepare/$1.$language" --output "store/$1.pieces.$language.part"
  done
  create_folder "store/$1.lengths" output_to "store/$1.lengths.part/report.json" "$gyre" data clean \
    --source "store/$1.pieces.$src" --target "store/$1.pieces.$tgt" \
    --output-source "store/$1.lengths.part/$src" --output-target "store/$1.lengths.part/$tgt" \
    --min-length 1 --max-length 250 --max-ratio 1.5 --max-characters 1000 --report "store/$1.lengths.part/dropped.tsv" --json
  for language in "$src" "$tgt"; do
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
    expected=$(($(bytes_of "$text.$src" "$text.$tgt") * 2 / 3)) create store/$name.tok "$gyre" data build \
      --vocab $vocabulary --max-length $max_length --source "$text.$src" --target "$text.$tgt" \
      --output store/$name.tok.part
  done
  check_data
}

# Says before the training what is wrong with data and options together. Its errors (status 1) do not end this script:
# the training itself rejects what it cannot use.
check_data() {
  local tests=() train valid
  train=$(text_of train) valid=$(text_of valid)
  if [ "$overlap" = drop ]; then tests=(--test-sets "prepare/newstest2014.$src" "prepare/newstest2014.$tgt"); fi
  create store/check.txt output_to store/check.txt.part with_findings "$gyre" data check --config "$(recipe)" --no-plan \
    --train-sets "$train.$src" "$train.$tgt" --valid-sets "$valid.$src" "$valid.$tgt" --vocab $vocabulary \
    "${tests[@]}" "${train_options[@]}"
  sed 's/^/   /' store/check.txt >&2
}
with_findings() {
  local status=0
  "$@" || status=$?
  [ "$status" -le 1 ] || return "$status"
}

clean_up_store() {
  rm -f store/*.pieces.* store/*.lengths/"$src" store/*.lengths/"$tgt"
  rm -f "store/train.$src" "store/train.$tgt"
}
