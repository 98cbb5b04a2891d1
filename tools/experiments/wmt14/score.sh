# The stages translate and score, and the bundle of a reproduction (sourced by wmt14.sh).

# Stage translate: translates the test sets, and joins Moses tokens to text.

# Beam size, length penalty and maximum length are those of Vaswani et al. (2017), section 6.1.
search_options() {
  echo --beam-size 4 --length-penalty 0.6 --max-length-factor 1 --max-length-extra 50
  # tensor2tensor divides by ((5 + length) / 6)^0.6, fairseq by length^0.6.
  if [ "$preparation" = tensor2tensor ]; then echo --length-penalty-form gnmt; fi
}

stage_translate() {
  local name raw
  for name in $test_sets; do
    raw=translate/$name.$tgt
    if [ "$preparation" = fairseq ]; then raw=translate/$name.tokens.$tgt; fi
    # shellcheck disable=SC2046
    expected=$(bytes_of "prepare/$name.$tgt") create "$raw" "$gyre" translate --model train \
      --checkpoint "$(cat average/checkpoint)" --device "$device" $(search_options) \
      --input "prepare/$name.$src" --output "$raw.part"
    if [ "$preparation" = fairseq ]; then
      create "translate/$name.$tgt" "$gyre" data detokenize --language "$tgt" --input "$raw" \
        --output "translate/$name.$tgt.part"
    fi
  done
}

# Stage score: scores the translations by all protocols, and packs the bundle.

# score_by METRIC NAME OPTION...: writes score/NAME.METRIC, a line for each score, and the same as JSON.
score_by() {
  local file=score/$2.$1 metric=${1%-tokens}
  create "$file" output_to "$file.part" "$gyre" evaluate "$metric" "${@:3}" --confidence
  create "$file.jsonl" output_to "$file.jsonl.part" "$gyre" evaluate "$metric" "${@:3}" --confidence --json
}

scores_of() { # NAME SUFFIX: prints the lines of all metrics
  local metric
  for metric in bleu bleu-tokens chrf ter; do
    if [ -e "score/$1.$metric$2" ]; then cat "score/$1.$metric$2"; fi
  done
}

# Each line begins with the name of the metric and its protocol, and has its signature.
stage_score() {
  local name text protocols=(all)
  # compound-split is a protocol for German.
  if [ "$pair" = en-fr ]; then protocols=(sacrebleu multi-bleu --language fr); fi
  for name in $test_sets; do
    text=(--reference "prepare/tests/$name.$tgt" --input "translate/$name.$tgt")
    score_by bleu "$name" --protocol "${protocols[@]}" "${text[@]}"
    # fairseq-generate compares the tokens of its preparation. Their hyphens are split, so compounds must not be.
    if [ "$preparation" = fairseq ]; then
      score_by bleu-tokens "$name" --protocol multi-bleu --tokenized \
        --reference "prepare/$name.$tgt" --input "translate/$name.tokens.$tgt"
    fi
    score_by chrf "$name" --chrf-word-order 2 "${text[@]}"
    score_by ter "$name" "${text[@]}"
    scores_of "$name" '' | sed "s/^/   $name: /" >&2
  done
  pack_bundle
}

# Packs all that a reader needs to check the scores.
#
# All files but those in measured/, which has times, are the same for every repetition on the same number of ranks.

# Without the times of the cleaning.
copy_report() { # FROM TO
  sed -E 's/,"(seconds|megabytes_per_minute)":[0-9.e+-]+//g' "$1" > "$2"
}

archive_files() { cut -d ' ' -f 1 <<< "$archives" | sort | sed 's|^|fetch/|'; }

list_commands() {
  local name
  echo "# In OUTPUT, with gyre in the path. Words that are no programs are functions in tools/experiments/wmt14."
  for name in $all_stages; do
    echo "# $name"
    if [ -e ".stages/$name.commands" ]; then cat ".stages/$name.commands"; else echo "# not by wmt14.sh"; fi
  done
}

fill_bundle() { # FOLDER
  local name file weights
  weights=train/checkpoints/$(cat average/checkpoint)/model.safetensors
  mkdir -p "$1"/{hypotheses,references,scores,data,measured}
  for name in $test_sets; do
    cp "translate/$name".*"$tgt" "$1/hypotheses"
    cp "prepare/tests/$name.$tgt" "$1/references"
    scores_of "$name" '' > "$1/scores/$name.txt"
    scores_of "$name" .jsonl > "$1/scores/$name.jsonl"
  done
  list_commands > "$1/commands.txt"
  for name in $all_stages; do options_of "$name"; done > "$1/options.txt"
  "$gyre" --build-info > "$1/versions.txt"
  sha256sum "$weights" "$vocabulary" store/*.tok $(archive_files) \
    prepare/{train,valid}."$src" prepare/{train,valid}."$tgt" > "$1/inputs.sha256"
  cp train/config.json train/train.toml "$1"
  copy_report prepare/clean/report.json "$1/data/clean.json"
  gzip -nc prepare/clean/dropped.tsv > "$1/data/dropped.tsv.gz"
  cp store/check.txt "$1/data"
  for file in train valid; do
    [ -e "store/$file.lengths" ] || continue
    copy_report "store/$file.lengths/report.json" "$1/data/$file-lengths.json"
    gzip -nc "store/$file.lengths/dropped.tsv" > "$1/data/$file-lengths-dropped.tsv.gz"
  done
  (cd "$1" && find . -type f ! -path './measured/*' ! -name SHA256SUMS -printf '%P\0' | sort -z |
    xargs -0 sha256sum > SHA256SUMS)
  cp train/metrics.jsonl "$1/measured"
  for name in $all_stages; do
    if [ -e ".stages/$name.usage" ]; then echo "$name $(cat ".stages/$name.usage")"; fi
  done > "$1/measured/seconds_and_peak_kib.txt"
  "$gyre" plot --model train --output "$1/measured/curve.png" > /dev/null ||
    say "   without a loss curve, because gyre plot failed"
}

# The archive depends on the contents only, not on times and owners.
pack_bundle() {
  rm -rf bundle bundle.part bundle.tar.gz
  fill_bundle bundle.part
  mv bundle.part bundle
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar -cf - bundle |
    gzip -n > bundle.tar.gz.part
  mv bundle.tar.gz.part bundle.tar.gz
  say "   bundle/ and bundle.tar.gz, $(megabytes "$(bytes_of bundle.tar.gz)")"
}
