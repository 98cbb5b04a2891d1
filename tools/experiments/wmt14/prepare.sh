# Stage prepare: extracts the text, removes training pairs that are in a test set, and tokenizes (sourced by wmt14.sh).

test_sets="newstest2013 newstest2014 newstest2014-filtered"
corpora=(training/europarl-v7.de-en commoncrawl.de-en "training/news-commentary-$news.de-en") # in fairseq's order

extract_corpora() {
  tar -xzf fetch/training-parallel-europarl-v7.tgz -C prepare/raw.part "${corpora[0]}".{en,de}
  tar -xzf fetch/training-parallel-commoncrawl.tgz -C prepare/raw.part "${corpora[1]}".{en,de}
  tar -xzf "fetch/training-parallel-nc-$news.tgz" -C prepare/raw.part "${corpora[2]}".{en,de}
}

# The text of <seg> elements. Like sacreBLEU, this squeezes white space and keeps entities as they are.
segments() { # ARCHIVE MEMBER
  tar -xzOf "fetch/$1" "$2" | LC_ALL=C sed -n 's/.*<seg[^>]*>\(.*\)<\/seg>.*/\1/p' |
    LC_ALL=C sed 's/\xC2\xA0/ /g; s/[[:space:]][[:space:]]*/ /g; s/^ //; s/ $//'
}

lines_of() { wc -l < "$1"; }
extract_tests() {
  local language side name english german
  for language in en de; do
    if [ $language = en ]; then side=src; else side=ref; fi
    tar -xzOf fetch/dev.tgz "dev/newstest2013.$language" > "prepare/tests.part/newstest2013.$language"
    name=newstest2014-deen-$side.$language.sgm
    segments test-full.tgz "test-full/$name" > "prepare/tests.part/newstest2014.$language"
    segments test-filtered.tgz "test/$name" > "prepare/tests.part/newstest2014-filtered.$language"
  done
  for name in $test_sets; do
    english=$(lines_of "prepare/tests.part/$name.en") german=$(lines_of "prepare/tests.part/$name.de")
    if [ "$english" -eq 0 ] || [ "$english" -ne "$german" ]; then
      fail "$name: expected as many German sentences as English ones, got $german and $english"
    fi
    say "   $name: $english sentence pairs"
  done
}

# Validation data of fairseq is every 100th pair of the corpus, that of tensor2tensor is newstest2013.
clean_corpora() {
  local options=() name language
  if [ "$overlap" = drop ]; then
    options+=(--exclude)
    for name in $test_sets; do for language in en de; do options+=("prepare/tests/$name.$language"); done; done
  fi
  if [ "$preparation" = fairseq ]; then
    options+=(--holdout-every 100)
    options+=(--holdout-source prepare/clean.part/valid.en --holdout-target prepare/clean.part/valid.de)
  fi
  expected=$(bytes_of prepare/raw) create_folder prepare/clean output_to prepare/clean.part/report.json "$gyre" data clean \
    --source "${corpora[@]/%/.en}" --target "${corpora[@]/%/.de}" \
    --output-source prepare/clean.part/train.en --output-target prepare/clean.part/train.de \
    --report prepare/clean.part/dropped.tsv --json "${options[@]}"
}

tokenize() { # LANGUAGE INPUT OUTPUT OPTION...
  expected=$(bytes_of "$2") create "$3" "$gyre" data tokenize --language "$1" --aggressive-hyphens "${@:4}" \
    --input "$2" --output "$3.part"
}

prepare_fairseq() {
  local language name text
  for language in en de; do
    for name in train valid; do
      tokenize $language prepare/clean/$name.$language prepare/$name.$language \
        --normalize-punctuation --remove-non-printing
    done
    # Training text has no right single quotes any more, because their normal form is '.
    for name in $test_sets; do
      text=prepare/tests/$name.quotes.$language
      create "$text" output_to "$text.part" sed "s/’/'/g" "prepare/tests/$name.$language"
      tokenize $language "$text" "prepare/$name.$language"
    done
  done
}

prepare_tensor2tensor() {
  local language name
  for language in en de; do
    create prepare/train.$language ln prepare/clean/train.$language prepare/train.$language.part
    create prepare/valid.$language ln prepare/tests/newstest2013.$language prepare/valid.$language.part
    for name in $test_sets; do
      create "prepare/$name.$language" ln "prepare/tests/$name.$language" "prepare/$name.$language.part"
    done
  done
}

stage_prepare() {
  create_folder prepare/raw extract_corpora
  create_folder prepare/tests extract_tests
  corpora=("${corpora[@]/#/prepare/raw/}")
  clean_corpora
  "prepare_$preparation"
  say "   $(lines_of prepare/train.en) training pairs, $(lines_of prepare/valid.en) validation pairs"
}
# The archives have the raw text.
clean_up_prepare() {
  rm -rf prepare/raw
  rm -f prepare/clean/*.en prepare/clean/*.de
}
