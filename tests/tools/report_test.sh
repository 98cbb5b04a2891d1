#!/usr/bin/env bash
# Tests the pages of gyre report: their figures, their samples, what they escape, the errors of wrong calls, and in a
# browser, if there is one, that everything is drawn.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"

small_corpus
train() { # train DIRECTORY OPTIONS...
  local run=$1
  shift
  small_train --model "$run" --valid-sets val.en val.de --disp-freq 2u --valid-freq 4u --after 12u --quiet "$@"
}
hostile='</script><img src=x onerror=alert(1)> & "quoted"'
printf '%s\n' "$hostile" > sources && tail -n +2 val.en >> sources && mv sources val.en
train run --deterministic --micro-batches 2
train "other <b>&" --valid-metrics cross-entropy --learn-rate 0.01

# The data of the page is one line of JSON.
data_of() { sed -nE 's/^<script id="data" type="application\/json">(.*)<\/script>$/\1/p' "$1"; }
# The list of a figure in a page, and in the metrics: `drawn PAGE train loss`, `measured RUN train loss`
drawn() { data_of "$1" | grep -o "\"$2\":{\"entries\"[^}]*" | grep -oE "\"$3\":\[[^]]*" | cut -d '[' -f 2; }
measured() {
  grep "\"event\":\"$2\"" "$1/metrics.jsonl" | sed -E "s/.*[,{]\"$3\":([^,}]*)[,}].*/\1/" | paste -sd ,
}

"$GYRE" report --model run --output page.html
for event in train valid; do
  for figure in updates seconds loss cross-entropy; do
    same "$figure, $event" "$(drawn page.html $event $figure)" "$(measured run $event $figure)"
  done
done
for figure in target_tokens accuracy learning_rate gradient_norm tokens_per_second tflops share memory_mb; do
  same "$figure" "$(drawn page.html train $figure)" "$(measured run train $figure)"
done
same "bleu" "$(drawn page.html valid bleu)" "$(measured run valid bleu)"
same "target tokens at validations" "$(drawn page.html valid target_tokens)" \
  "$(drawn page.html train target_tokens | cut -d , -f 2,4,6)"
same "checkpoints" "$(data_of page.html | grep -oE '"name":"step-[0-9]*","updates":12,"bytes":[0-9]+,"best":true,"last":true,"values":\{"loss":[0-9.]+,' | wc -l)" 1
for text in '"train-sets":"train.en, train.de"' '"position.rope_base":"10000.0"' '"state":"reached --after 12u"' \
  '"text":"train.en + train.de: 400 pairs"' '"ranks":1,' '"kernels":"' '"precision":"fp32"' '"limit_source":"measured: '; do
  data_of page.html | grep -qF -- "$text" || fail "the page lacks $text"
done
echo "ok: options, architecture, progress, messages, environment"

# Samples: four of each validation, cut where a run continues from an earlier checkpoint.
samples() { data_of "$1" | grep -o '"samples":\[.*\],"checkpoints"'; }
same "samples" "$(samples page.html | grep -o '"source":' | wc -l)" 4
same "validations with samples" "$(grep -c '"samples":\[{"source":"</script>' run/metrics.jsonl)" 3
samples page.html | grep -qF "\"reference\":\"$(sed -n 2p val.de)\"" || fail "the reference of the second sample"
samples page.html | grep -q '"last":12' || fail "the last validation"
cp -r run cut
echo '{"event":"resume","updates":8}' >> cut/metrics.jsonl
"$GYRE" report --model cut --output cut.html
same "updates of the curves of a run that returned to update 8" "$(drawn cut.html train updates)" 2,4,6,8
samples cut.html | grep -q '"last":12' && fail "a sample after update 8"
data_of cut.html | grep -q '"state":"not ended' || fail "the run that returned to update 8 has not ended"
sed -E 's/("event":"train","updates":4,.*"loss":)[0-9.]*/\1null/' run/metrics.jsonl > cut/metrics.jsonl
"$GYRE" report --model cut --output gap.html
same "a loss that was not finite" "$(drawn gap.html train loss | cut -d , -f 2)" null
if grep -q '^MPI: none' <("$GYRE" --build-info); then
  skipped "samples of two ranks" "Gyre was built without MPI"
else
  ln -s "$ROOT/tools" tools
  tools/scripts/mpirun.sh -n 2 "$GYRE" train nmt --config run/train.toml --model two --quiet
  "$GYRE" report --model two --output two.html
  same "samples of two ranks" "$(samples two.html)" "$(samples page.html)"
fi

# Samples of language models: words in place of masks, and continuations.
from_corpus books.txt vocab.txt
for kind in "mlm bert-mini" "lm lm-tiny"; do
  read -r task preset <<< "$kind"
  "$GYRE" train $task --preset $preset --dim-emb 32 --transformer-heads 4 --layers 1 --transformer-dim-ffn 64 --max-length 32 \
    --train-sets books.txt --valid-share 0.2 --valid-freq 2u --vocab vocab.txt --mini-batch 8 --after 4u --model $task \
    --cpu-threads 1 --quiet 2> train.log
  "$GYRE" report --model $task --output $task.html
  same "samples of $task" "$(samples $task.html | grep -o '"source":' | wc -l)" 4
  same "validations of $task with samples" "$(grep -c '"samples":\[{"source":"[^"]' $task/metrics.jsonl)" 2
done
check "masks in the samples" contains '"source":"[^"]*\[MASK\]' < mlm/metrics.jsonl

# Two runs.
"$GYRE" report --model run "other <b>&" --output both.html
same "curves of both runs" "$(drawn both.html train loss)" "$(measured run train loss)
$(measured 'other <b>&' train loss)"
same "the title" "$(grep -o '<title>.*' both.html)" '<title>Training runs run and other &lt;b&gt;&amp;</title>'
same "a run without samples" "$(data_of both.html | grep -o '"samples":\[\]' | wc -l)" 1

# Self-contained, escaped, the same at every call.
for page in page.html both.html; do
  sed 's/http:\/\/www\.w3\.org\/2000\/svg//' "$page" | grep -v '^<script id="data"' > static.html
  grep -nE 'https?:|src=|url\(|@import|<link|<iframe' static.html && fail "$page refers to something outside"
  same "elements in the data of $page" "$(data_of "$page" | tr -cd '<' | wc -c)" 0
done
echo "ok: pages without references to anything outside"
"$GYRE" report --model run --output again.html
check "the page is the same again" cmp page.html again.html

# A page that follows a run is written with each of its entries, and loads itself again until the run ends.
mkdir followed
"$GYRE" report --model followed --output followed.html --follow 2> follow.log &
follower=$!
eventually() { # eventually NAME COMMAND...
  local tries=0
  until "${@:2}"; do
    sleep 0.1
    [ $((++tries)) -lt 600 ] || { cat follow.log >&2; fail "$1"; }
  done
  echo "ok: $1"
}
says() { grep -qE -- "$1" follow.log; }
has_updates() { [ -e followed.html ] && [ "$(drawn followed.html train updates)" = "$1" ]; }
eventually "a run without metrics is waited for" says '^waiting for the first entries of metrics.jsonl'
grep -v '"event":"end"' run/metrics.jsonl | sed -n 1,5p > part # head would cut grep off, which then fails
mv part followed/metrics.jsonl
eventually "the first entries are drawn" has_updates "$(grep '"event":"train"' followed/metrics.jsonl | grep -oE '"updates":[0-9]+' | cut -d : -f 2 | paste -sd ,)"
check "the page loads itself again" contains '"followed":true' < followed.html
tail -n +6 run/metrics.jsonl >> followed/metrics.jsonl
wait $follower || fail "the status of gyre report --follow"
same "all entries are drawn in the end" "$(drawn followed.html train updates)" "$(drawn page.html train updates)"
check "the run has ended" says '^followed.html is complete: training has ended$'
if contains '"followed":true' < followed.html; then fail "the page of a run that has ended loads itself again"; fi
sed -i '/"event":"end"/d' followed/metrics.jsonl
rm follow.log # it has the line that is waited for below
"$GYRE" report --model followed --output followed.html --follow 2> follow.log &
follower=$!
eventually "a run that was killed may go on" says '^followed.html follows the training; Ctrl-C ends it$'
kill -TERM $follower
wait $follower || fail "the status of gyre report --follow after a signal"
mv followed.html following.html

# Names are text in scripts, pages and messages, whatever is in them.
evil=$'evil\nsystem("touch PWN")\n\x1b]0;x\x07`touch PWN` \'"\\ @x %s <script>]]>'
cp -r run "$evil"
plain() { ! grep -q $'\x1b\|\x07' "$1" && [ ! -e PWN ]; } # plain FILE: it has no control characters, and no name was run
"$GYRE" report --model "$evil" "other <b>&" --output evil.html 2> evil.log
check "a page" plain evil.html
if command -v gnuplot > /dev/null; then
  for call in '--model run --title' '--model run --model'; do
    # shellcheck disable=SC2086 # several options
    "$GYRE" plot $call "$evil" --output evil.svg 2> evil.log || { cat evil.log >&2; fail "plot $call"; }
    check "a picture with $call" plain evil.svg
  done
  contains '%s &lt;script>\]\] >' < evil.svg || fail "the name in the picture"
  "$GYRE" plot --model run --output '|touch PWN.svg' 2> evil.log
  check "a picture with the name of a command" test -s '|touch PWN.svg'
fi
for call in 'checkpoint info' 'checkpoint verify' 'evaluate perplexity --input val.en' 'train nmt --after 12u'; do
  # shellcheck disable=SC2086 # several options
  "$GYRE" $call --model "$evil" > evil.log 2>&1 || true
  check "messages of gyre $call" plain evil.log
  if grep -n '^system' evil.log; then fail "a name has a line of its own"; fi
done

rejects 2 '^gyre: --model: expected a run directory, got nothing$' "$GYRE" report --model nothing
mkdir empty
rejects 2 'expected the directory of a run, found no metrics.jsonl in empty' "$GYRE" report --model empty
rejects 2 'expected two runs, got run/. twice' "$GYRE" report --model run/. run
rejects 2 'expected one or two runs, got 3' "$GYRE" report --model run cut empty
rejects 2 '--model' "$GYRE" report
echo 'no JSON' > empty/metrics.jsonl
rejects 1 'empty/metrics.jsonl:1: expected a JSON object' "$GYRE" report --model empty
: > empty/metrics.jsonl
"$GYRE" report --model empty --output empty.html
rejects 1 'no/such/page.html' "$GYRE" report --model run --output no/such/page.html

cp -r run deep
{ printf '{"model": '; head -c 300000 /dev/zero | tr '\0' '['; } > deep/config.json
rejects 1 'config.json: the configuration is nested too deeply' "$GYRE" report --model deep
rejects 1 'config.json: the file is nested too deeply' "$GYRE" generate --model deep
cp run/config.json deep/
{ printf '{"event": "train", "updates": '; head -c 300000 /dev/zero | tr '\0' '['; echo; } > deep/metrics.jsonl
rejects 1 'deep/metrics.jsonl:1: expected a JSON object' "$GYRE" report --model deep
cp -r run odd
mkdir odd/checkpoints/step-x odd/checkpoints/step-99999999999999999999999
long_line() { head -c 100000 /dev/zero | tr '\0' x; echo; }
{ long_line && cat run/train.log; } > odd/train.log
"$GYRE" report --model odd --output odd.html
same "odd names of checkpoints are no checkpoints" "$(data_of odd.html | grep -oE '"name":"step-[^"]*"' | grep -cvE 'step-[0-9]{8}"' || true)" 0
check "a long line of the log is shortened" grep -qF 'xxx .. (100000 bytes)' odd.html
for output in odd/metrics.jsonl odd/config.json; do
  rejects 2 "--output: expected a new file or one that ends in .html, $output exists" "$GYRE" report --model run --output $output
done
{ printf '{"a":%.0s' {1..5000} && echo; } > odd/config.json
rejects 1 '^gyre: odd/config.json: ' "$GYRE" report --model odd

if ! has_chromium; then
  skipped "gyre report in a browser" "chromium-headless-shell is not installed or does not start"
  exit
fi
for page in page.html both.html cut.html gap.html empty.html following.html; do
  in_chromium "$page" > drawn.html
  grep -o 'data-errors="[^"]*"' drawn.html && fail "$page has errors in the browser"
  check "$page opens without errors" grep -q '<h2' drawn.html
  if [ "$page" = both.html ]; then curves=25; elif [ "$page" = page.html ]; then curves=13; else continue; fi
  same "curves in $page" "$(grep -oE '<path class="line color-[0-9]" d="M[0-9.]+ [0-9.]+L[^"]*"' drawn.html | wc -l)" "$curves"
  same "samples in $page" "$(grep -o '<h3>Sample ' drawn.html | wc -l)" 4
  same "markup of a sample in $page" "$(grep -c '<img' drawn.html || true)" 0
done

# Use every control and the arrow keys: the second point is the first validation.
sed 's|</body>|<script>"use strict";\
  document.querySelectorAll("input").forEach((input) => input.click());\
  document.querySelector("input").click();\
  for (const plot of document.querySelectorAll(".plot")) for (const key of ["Home", "ArrowRight"])\
    plot.dispatchEvent(new KeyboardEvent("keydown", {key}));\
</script></body>|' page.html > used.html
in_chromium used.html > drawn.html
grep -o 'data-errors="[^"]*"' drawn.html && fail "errors after using the page"
rounded() { measured run "$1" loss | cut -d , -f "$2" | awk '{ printf "%.6g", $1 }'; }
same "the loss at the second point" "$(grep -oE 'aria-label="Loss: points"[^>]*aria-valuetext="[^"]*"' drawn.html | sed 's/.*valuetext=//')" \
  "\"4 updates: training $(rounded train 2), validation $(rounded valid 1)\""
