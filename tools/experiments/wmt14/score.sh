# Stage score: scores the translations by all protocols, and packs the bundle (sourced by wmt14.sh).

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
  local name text
  for name in $test_sets; do
    text=(--reference "prepare/tests/$name.de" --input "translate/$name.de")
    score_by bleu "$name" --protocol all "${text[@]}"
    # fairseq-generate compares the tokens of its preparation. Their hyphens are split, so compounds must not be.
    if [ "$preparation" = fairseq ]; then
      score_by bleu-tokens "$name" --protocol multi-bleu --tokenized \
        --reference "prepare/$name.de" --input "translate/$name.tokens.de"
    fi
    score_by chrf "$name" --chrf-word-order 2 "${text[@]}"
    score_by ter "$name" "${text[@]}"
    scores_of "$name" '' | sed "s/^/   $name: /" >&2
  done
  pack_bundle
}
