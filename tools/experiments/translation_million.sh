#!/usr/bin/env bash
# Trains English-German translation with rotary and with sinusoidal positions on 1.3 million pairs of documentation,
# software, news and stories, for a given time each: a translator for your documentation overnight.
#   tools/experiments/translation_million.sh PAIRS OUTPUT [OPTIONS OF gyre train nmt]...
# PAIRS: sets NAME.en and NAME.de with parallel lines, and dev.en, dev.de and dev.domain, whose lines name a set. TESTS:
# a folder of other test sets, NAME.en and NAME.de. OUTPUT gets data/, and what translation_arms.sh makes of it: runs,
# runs.tsv, scores.tsv, paired.txt and curves.svg. Existing results are kept, so the script resumes. Environment:
#   TESTS=  ARMS="rope sinusoidal"  SEEDS="1 2"  RANKS=1
#   HOURS=3 (of training for each arm and seed; more hours continue the runs)
#   WEIGHTS="msdocs_ht=0.5 adobe_mt=0.25" (copies of each pair of a set; others have one)
set -euo pipefail
here=$(dirname "$0")
if [ $# -lt 2 ]; then
  sed -n '4,10s/^# *//p' "$0" >&2
  exit 2
fi
pairs=$1 output=$2
shift 2
gyre=${GYRE:-build/gyre}
data=$output/data
shopt -s nullglob
weights=${WEIGHTS-msdocs_ht=0.5 adobe_mt=0.25}
for weight in $weights; do
  if [[ -n ${WEIGHTS-} && ! -e $pairs/${weight%%=*}.en ]]; then
    echo "WEIGHTS: expected names of sets in $pairs, got $weight" >&2
    exit 2
  fi
done
if [[ -n ${TESTS-} && -z $(echo "$TESTS"/*.en) ]]; then
  echo "TESTS: expected a folder with NAME.en and NAME.de, got $TESTS" >&2
  exit 2
fi

# Half of the lines of each domain is a test set, the other half is for validation.
prepare() {
  local set name weight excluded
  if [ "$(for part in domain en de; do wc -l < "$pairs/dev.$part"; done | sort -u | wc -l)" -ne 1 ]; then
    echo "$pairs/dev.domain: expected as many lines as dev.en and dev.de have" >&2
    exit 1
  fi
  mkdir -p "$data/tests" "$data/clean"
  for language in en de; do
    paste "$pairs/dev.domain" "$pairs/dev.$language" | awk -F'\t' -v out="$data" -v language="$language" '
      { print $2 > (seen[$1]++ % 2 ? out "/valid." language : out "/tests/" $1 "." language) }'
    for set in ${TESTS:+"$TESTS"/*."$language"}; do cp "$set" "$data/tests/"; done
  done
  excluded=("$data"/valid.* "$data"/tests/*)
  for set in "$pairs"/*.en; do
    name=$(basename "$set" .en)
    [ "$name" != dev ] || continue
    weight=$(tr ' ' '\n' <<< "$weights" | sed -n "s/^$name=//p")
    "$gyre" data clean --source "$set" --target "${set%.en}.de" --output-source "$data/clean/$name.en" \
      --output-target "$data/clean/$name.de" --max-length 100 --max-ratio 3 --max-characters 40 --remove-duplicates \
      --normalize-whitespace --exclude "${excluded[@]}" >&2
    for language in en de; do # a weight of 2.5: twice, and every other line once more
      awk -v weight="${weight:-1}" '{ due += weight; while (due >= 1) { print; --due } }' "$data/clean/$name.$language" \
        >> "$data/train.part.$language"
    done
  done
  for language in en de; do mv "$data/train.part.$language" "$output/train.$language"; done
}
if [ ! -e "$output/train.de" ]; then
  rm -rf "$data"
  prepare
fi
hours=${HOURS:-3}
awk -v hours="$hours" -v runs="$(wc -w <<< "${ARMS:-rope sinusoidal}")" -v seeds="$(wc -w <<< "${SEEDS:-1 2}")" \
  'BEGIN { printf "expected time: %.1f hours of training, and less than a tenth of that for the translations\n", hours * runs * seeds }' >&2
RECIPE=translation-million PIECES=${PIECES:-16000} RANKS=${RANKS:-1} "$here/translation_arms.sh" "$data" "$output" \
  --stop-after-minutes "${hours}h" "$@"
