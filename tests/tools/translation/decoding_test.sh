#!/usr/bin/env bash
# Tests ensembles, scores of given translations, sampling and back-translation from outside.
. "$(dirname "$0")/../lib.sh"
translate() { "$GYRE" translate --quiet --input test.en "$@"; }
score() { "$GYRE" score --quiet "$@"; }

small_corpus
from_corpus bytes.model
# Byte vocabularies encode every text in one way only, so that texts have the scores of their pieces.
for seed in 1 2; do
  small_train --vocab bytes.model --seed $seed --model bytes$seed --after 120u --mini-batch-words 2000 --learn-rate 0.01 --lr-warmup 20 --quiet
done
small_train --model other --after 1u --quiet

# Ensembles.
translate --model bytes1 --max-length-factor 0.5 > one.de
translate --model bytes1 bytes1 --max-length-factor 0.5 > twice.de
check "an ensemble of a model with itself translates as the model" cmp one.de twice.de
translate --model bytes1 bytes2 --max-length-factor 0.5 > both.de
translate --model bytes2 bytes1 --max-length-factor 0.5 > swapped.de
check "the order of the models does not matter" cmp both.de swapped.de
cmp -s one.de both.de && fail "the second model changes nothing"
translate --model bytes1 bytes2 --max-length-factor 0.5 --weights 1 1e-9 > weighted.de
check "a model of nearly no weight changes nothing" cmp one.de weighted.de
"$GYRE" translate --model bytes1 bytes2 --checkpoint last < test.en 2> models.log > /dev/null
same "a line for each model" "$(grep -c '^model: bytes[12]/checkpoints/step-00000120 (last)$' models.log)" 2
"$GYRE" translate --model bytes1 --checkpoint last bytes2/checkpoints/last < test.en 2> models.log > /dev/null
same "several checkpoints are an ensemble" "$(grep -c '^model: ' models.log)" 2
rejects 1 'models with the same vocabulary: that of other has fingerprint [0-9a-f]+, that of bytes1 has' "$GYRE" translate --quiet --model bytes1 other
rejects 2 '--checkpoint. expected one name, or one for each of 2 models, got 3' "$GYRE" translate --model bytes1 bytes2 --checkpoint last last last
rejects 2 '--checkpoint. expected a name, got an empty one' "$GYRE" translate --model bytes1 --checkpoint ''
rejects 2 '--weights. expected a number for each of 2 models, got 1' "$GYRE" translate --model bytes1 bytes2 --weights 1

# Scores equal those that translate computed, for any batches, models and means.
sums() { awk -F ' \\|\\|\\| ' '{ sub("F0= ", "", $3); print $3 }' "$1"; }
for models in "bytes1" "bytes1 bytes2" "bytes1 bytes2 --ensemble-mean log-probabilities"; do
  translate --model $models --n-best 3 --beam-size 3 --max-length-factor 0.5 > nbest
  same "entries of the n-best list" "$(wc -l < nbest)" 60
  score --model $models --source test.en --target nbest --n-best > rescored
  sed 's/.* Score= \([-0-9.]*\) .*/\1/' rescored > scores
  sums nbest > wanted
  check "scores of n-best lists with $models" near scores wanted
  sed 's/ Score= [-0-9.]*//' rescored > stripped
  check "the rest of the list is unchanged" cmp nbest stripped
done
awk -F ' \\|\\|\\| ' '{ print $4 }' nbest > wanted
score --model $models --source test.en --target nbest --n-best --normalize 0.6 | sed 's/.* Score= \([-0-9.]*\) .*/\1/' > scores
check "scores with a length penalty" near scores wanted
score --model bytes1 --source test.en --target test.de > scores
same "a score per line" "$(wc -l < scores)" 20
score --model bytes1 --source test.en --target test.de --mini-batch 3 --maxi-batch 2 > small
check "batches do not change scores" near scores small
score --model bytes1 --source - --target test.de --output file < test.en
check "sources from standard input, scores to a file" cmp scores file
score --model bytes1 --source test.en --target test.de --word-scores > words
awk -F ' \\|\\|\\| ' '{ n = split($2, p, " "); m = split($3, s, " "); sum = 0; for (i in s) sum += s[i]; d = sum - $1;
  if (n != m || p[n] != "</s>" || d > 1e-3 || d < -1e-3) exit 1 }' words || fail "word scores: $(head -n 1 words)"
score --model bytes1 --source test.en --target test.de --word-scores --json > words.json
same "an object per line" "$(grep -cE '^\{"line":[0-9]+,"log_probability":-[0-9.]+,"score":-[0-9.]+,"tokens":[0-9]+,"pieces":\[.*"</s>"\],"log_probabilities":\[.*\]\}$' words.json)" 20
score --model bytes1 --source test.en --target test.de --summary cross-entropy --json > summary
cross_entropy=$(score --model bytes1 --source test.en --target test.de --summary cross-entropy)
same "the tokens of the summary" "$(grep -o '"tokens":[0-9]*' summary)" "\"tokens\":$(wc -c < test.de)"
"$GYRE" train nmt --model bytes1 --after 121u --valid-sets test.en test.de --valid-freq 121u --quiet 2> valid.log || { cat valid.log >&2; fail "validation"; }
score --model bytes1 --checkpoint last --source test.en --target test.de --summary cross-entropy > scores
grep '"event":"valid"' bytes1/metrics.jsonl | grep -oE '"cross-entropy":[0-9.]+' | cut -d: -f2 > wanted
check "the cross-entropy is that of validation" near scores wanted
awk -v x="$(score --model bytes1 --checkpoint last --source test.en --target test.de --summary perplexity)" -v y="$(cat wanted)" \
  'BEGIN { d = log(x) - y; exit !(d < 1e-4 && d > -1e-4) }' || fail "perplexity"
[ "$cross_entropy" != "$(cat scores)" ] || fail "the update changed nothing"
head -n 3 test.de > short.de
rejects 1 'short.de: expected a target for each line of test.en, got only 3 lines' "$GYRE" score --quiet --model bytes1 --source test.en --target short.de
rejects 1 'test.de:4: there is no source for this line: short.de has 3 lines' "$GYRE" score --quiet --model bytes1 --source short.de --target test.de
printf '1 ||| a ||| F0= 0\n0 ||| b ||| F0= 0\n' > unordered
rejects 1 'unordered:2: expected the numbers of sources in ascending order, got 0 after 1' "$GYRE" score --quiet --model bytes1 --source test.en --target unordered --n-best
for text in 'one ||| two' 'a ||| b=c' 'a ||| b = c' 'a ||| = c'; do
  echo "0 ||| $text ||| F0= -1 ||| -1" > ambiguous
  rejects 1 "ambiguous:1: expected features such as F0= -1.5 after the text, which must not contain '\|\|\|'" \
    "$GYRE" score --quiet --model bytes1 --source test.en --target ambiguous --n-best
done
rejects 1 "test.de:1: expected an entry of an n-best list, id ||| text ||| .., got '" "$GYRE" score --quiet --model bytes1 --source test.en --target test.de --n-best
printf 'a\r\n\nc' > odd.en
printf '\nb\nc' > odd.de
same "empty lines, CRLF and a missing line end" "$(score --model bytes1 --source odd.en --target odd.de | grep -cE '^-[0-9.]+$')" 3
: > nothing
same "no lines" "$(score --model bytes1 --source nothing --target nothing | wc -c)" 0
rejects 1 'nothing: expected at least one line, got none' "$GYRE" score --quiet --model bytes1 --source nothing --target nothing --summary perplexity

# A line that is too long or not UTF-8 loses its own result only.
{ head -n 3 test.en; head -c 1500 /dev/zero | tr '\0' x; printf '\ncaf\xe9\n'; sed -n 4,6p test.en; } > bad.en
{ head -n 3 test.de; echo; echo; sed -n 4,6p test.de; } > bad.de
limited="--model bytes1 --max-length-factor 0.5"
for into in "" "--output bad.out"; do
  "$GYRE" translate --quiet $limited --input bad.en $into > stdout.txt 2> bad.log
  [ -n "$into" ] || cp stdout.txt bad.out
  check "lines beside bad ones $into" cmp <(head -n 3 one.de; echo; echo; sed -n 4,6p one.de) bad.out
  same "bad lines are reported" "$(cat bad.log)" 'bad.en: 6 lines, skipped 1 with invalid UTF-8 (line 5), 1 over 1000 tokens (line 4)'
done
same "n-best lists" "$("$GYRE" translate --quiet $limited --input bad.en --n-best 2 2> bad.log | cut -d ' ' -f 1 | uniq -c | tr -s ' \n' ' ')" ' 2 0 2 1 2 2 1 3 1 4 2 5 2 6 2 7 '
"$GYRE" translate --quiet $limited --max-length-crop --input bad.en > cropped.out 2> bad.log
same "a cropped line" "$(wc -l < cropped.out): $(cat bad.log)" '8: bad.en: 7 lines, skipped 1 with invalid UTF-8 (line 5), cropped 1 to 1000 tokens'
rejects 1 'bad.en:4: expected at most 1000 tokens, got 1501; --max-length-crop' "$GYRE" translate --quiet $limited --input bad.en --on-bad-line error
check "the lines before" cmp <(head -n 3 one.de) stdout.txt
score --model bytes1 --source bad.en --target bad.de > bad.scores 2> bad.log
score --model bytes1 --source <(head -n 6 test.en) --target <(head -n 6 test.de) > six.scores
check "scores beside bad lines" near six.scores <(sed 4,5d bad.scores)
same "bad lines have none" "$(sed -n 4,5p bad.scores | tr '\n' .)" ..
score --model bytes1 --source bad.de --target bad.en > bad.scores 2> bad.log
same "scores of bad targets" "$(sed -n 4,5p bad.scores | tr -d '\n')$(wc -l < bad.scores)" 8
same "JSON of a pair that is skipped" "$(score --model bytes1 --source bad.en --target bad.de --json 2> bad.log | sed -n 5p)" '{"line":4,"log_probability":null,"score":null,"tokens":0}'
same "a summary of the others" "$(score --model bytes1 --source bad.en --target bad.de --summary perplexity --json 2> bad.log | grep -o '"lines":[0-9]*')" '"lines":6'
awk '{ print NR - 1 " ||| " $0 " ||| F0= 0" }' bad.de > bad.nbest
same "entries that cannot be scored" "$(score --model bytes1 --source bad.en --target bad.nbest --n-best 2> bad.log | grep -c 'F0= 0 Score= -inf$')" 2
rejects 1 'bad.en:4: expected at most 1000 tokens, got 1501' "$GYRE" score --quiet --model bytes1 --source bad.en --target bad.de --on-bad-line error

# Somebody at a terminal gets each answer before the next line.
if command -v script > /dev/null; then
  mkfifo keys
  script -qefc "\"$GYRE\" translate --model bytes1 --cpu-threads 1 --max-length-factor 0.5" terminal.txt < keys > /dev/null &
  exec 3> keys
  for line in 1 2; do
    sed -n ${line}p test.en >&3
    for _ in $(seq 600); do grep -qF -- "$(sed -n ${line}p one.de)" terminal.txt && break; sleep 0.05; done
    check "answer $line" grep -qF -- "$(sed -n ${line}p one.de)" terminal.txt
  done
  exec 3>&-
  wait $!
  check "the end" contains '2 lines in [0-9.]+ s' < terminal.txt
  same "prompts" "$(grep -o '> ' terminal.txt | wc -l)" 3
else
  skipped "answers at a terminal" "there is no script"
fi

# Sampling.
sample() { translate --model other --sampling --max-length-factor 0.5 "$@"; }
sample > sample.de
same "as many samples as lines" "$(wc -l < sample.de)" 20
sample --mini-batch 3 --maxi-batch 1 --cpu-threads 2 > batches.de
check "batches and threads do not change samples" cmp sample.de batches.de
sample --seed 2 > seed.de
cmp -s sample.de seed.de && fail "the seed changes nothing"
sample --n-best 3 > three.de
same "samples in Marian's form" "$(grep -cE '^[0-9]+ \|\|\| .* \|\|\| F0= -[0-9.]+ \|\|\| -[0-9.]+$' three.de)" 60
awk -F ' \\|\\|\\| ' 'NR % 3 == 1 { print $2 }' three.de > first.de
check "the first sample does not depend on the number of samples" cmp sample.de first.de
translate --model other --beam-size 1 --max-length-factor 0.5 > greedy.de
sample --sampling-topk 1 > top.de
check "top-k 1 is greedy search" cmp greedy.de top.de
sample --temperature 0.001 > cold.de
check "a low temperature is greedy search" cmp greedy.de cold.de
for _ in 1 2 3 4 5; do head -n 1 test.en; done > equal.en
same "equal lines have different samples" "$("$GYRE" translate --quiet --model other --sampling --input equal.en | sort -u | wc -l)" 5

# Back-translation, as tools/docs/back_translation.md shows it: the reverse model translates German text to English.
head -n 30 train.de > mono.de
sets="train.de train.en" small_train --model reverse --after 5u --quiet
"$GYRE" translate --quiet --model reverse --sampling --max-length-crop --input mono.de --output mono.en
same "a source for each target" "$(wc -l < mono.en)" 30
cat train.en mono.en > mixed.en
cat train.de mono.de > mixed.de
sets="mixed.en mixed.de" small_train --model mixed --after 2u 2> mixed.log || { cat mixed.log >&2; fail "training on mixed text"; }
check "real and synthetic pairs" grep -qE '4(29|30) (of 430 )?pairs' mixed.log
