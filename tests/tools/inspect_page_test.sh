#!/usr/bin/env bash
# Tests gyre inspect page: the page needs nothing else, its numbers are those of gyre inspect step, and a browser can
# walk through all of it.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/tools/browser/browsers.sh"

for preset in transformer-tiny bert-mini lm-tiny; do
  "$GYRE" inspect page --preset $preset --differences 100 --output $preset.html > out.txt
  same "$preset: no output" "$(cat out.txt)" ""
  check "$preset: the page has $(wc -c < $preset.html) bytes" test "$(wc -c < $preset.html)" -lt 3000000
done
page=transformer-tiny.html
check "a page of one file" test -z "$(sed 's/http:\/\/www\.w3\.org\/2000\/svg//' $page | grep -oE 'src=|<link|@import|url\(|fetch\(|https?://[^ ]*')"
same "one script of data" "$(grep -c '<script id="data" type="application/json">' $page)" 1

# The figures of each node, one line each: node, then min, max and norm. Both commands print all digits.
figures='"shape":\[[0-9,]*\],"dtype":"[a-z0-9]+","min":([^,]*),"max":([^,]*),"norm":([^,]*),'
nodes() { sed 's/{"id":/\n&/g' "$page" | grep '^{"id":'; }
steps() { "$GYRE" inspect step --preset transformer-tiny --segments 1 --json | sed 's/{"node":[0-9]*,"op":/\n&/g' | grep '"doutput":'; }
steps > steps.txt
sed -nE "s/^\{\"node\":([0-9]+),.*\"output\":\{$figures.*/\1 \2 \3 \4/p" steps.txt | sort > step_values.txt
nodes | grep '"attributes":' | sed -nE "s/^\{\"id\":([0-9]+),.*\"module\":\"[^\"]*\",\"value\":\{$figures.*/\1 \2 \3 \4/p" | sort > page_values.txt
check "values of $(wc -l < step_values.txt) ops" test "$(wc -l < step_values.txt)" -gt 80
check "values are those of gyre inspect step" diff step_values.txt page_values.txt
# The last gradient of a node in the order of backward is final.
grep -oE '"node":[0-9]+,"name":"[^"]*","value":\{[^}]*\},"gradient":\{[^}]*\}' steps.txt |
  sed -E "s/^\"node\":([0-9]+),.*\"gradient\":\{$figures.*/\1 \2 \3 \4/" | tac | sort -u -k 1,1 > step_gradients.txt
nodes | sed -nE "s/^\{\"id\":([0-9]+),.*,\"gradient\":\{$figures.*/\1 \2 \3 \4/p" | sort -k 1,1 > all_gradients.txt
loss=$(sed -nE '1s/^\{"node":([0-9]+),.*/\1/p' steps.txt) # no op uses the loss
grep -v "^$loss " all_gradients.txt > page_gradients.txt
check "gradients of $(wc -l < step_gradients.txt) nodes" test "$(wc -l < step_gradients.txt)" -gt 200
check "gradients are those of gyre inspect step" diff step_gradients.txt page_gradients.txt

small_corpus
small_train --model run --after 2u --quiet
"$GYRE" inspect page --model run --length 6 --precision fp32 --device cpu --output run.html 2> out.txt
check "the parameters of a run" grep -q 'encoder.layers.0.self_attn.qkv_proj.weight' run.html

# A text: its tokens are in the page.
"$GYRE" inspect page --model run --text "$(head -n 1 train.en)" --target "$(head -n 1 train.de)" --output pair.html 2> out.txt
check "the pieces of a pair" grep -qE '"batch":"[^"]*▁[^"]* -> ▁' pair.html
from_corpus books.txt vocab.txt
for kind in "mlm bert-mini" "lm lm-tiny"; do
  read -r task preset <<< "$kind"
  "$GYRE" train $task --preset $preset --dim-emb 32 --transformer-heads 4 --layers 1 --transformer-dim-ffn 64 --max-length 32 \
    --train-sets books.txt --vocab vocab.txt --mini-batch 8 --after 2u --model $task --cpu-threads 1 --quiet 2> train.log
  "$GYRE" inspect page --model $task --text "$(head -n 2 train.en | tail -n 1)" --output $task.html 2> out.txt
done
check "masked pieces" grep -qE '"batch":"\[CLS\] [^"]*\[MASK\][^"]* \[SEP\]"' mlm.html
rejects 2 '^gyre: --text: expected --target, too, for a translation model$' "$GYRE" inspect page --model run --text a --output x.html
rejects 2 '^gyre: --target would have no effect: the model does not translate$' "$GYRE" inspect page --model lm --text a --target b --output x.html
rejects 2 '^gyre: --text would have no effect: there is no --model$' "$GYRE" inspect page --text a --output x.html
rejects 2 '^gyre: --length would have no effect: --text is given$' "$GYRE" inspect page --model lm --text a --length 4 --output x.html
rejects 2 '^gyre: --output is missing: ' "$GYRE" inspect page
rejects 2 '^gyre: --checkpoint would have no effect: there is no --model$' "$GYRE" inspect page --checkpoint best --output x.html
rejects 1 'nowhere/x.html' "$GYRE" inspect page --output nowhere/x.html

# A run whose weights are not finite.
small_train --model big --after 4u --quiet --learn-rate 1e30 --lr-warmup 0 --clip-norm 0 --max-skipped 10 > big.log 2>&1 || true
"$GYRE" inspect page --model big --length 4 --output big.html 2> out.txt
rejects 2 '--output: expected a new file or one that ends in .html, train.en exists' \
  "$GYRE" inspect page --preset lm-tiny --output train.en
rejects 2 '^gyre: --text: expected at least one token, got none$' "$GYRE" inspect page --model lm --text "" --output lm2.html

# Every number of lm-nano can be read: no line of a tensor has more than 24 numbers, which the page shows in their cells.
"$GYRE" inspect page --preset lm-nano --output lm-nano.html
same "the longest line or column of lm-nano" "$(grep -oE '"shape":\[[0-9,]+\]' lm-nano.html | grep -oE '[0-9]+' | sort -n | tail -n 1)" 24
check "a decoder" grep -qF '"parameter":"decoder.layers.0.self_attn.qkv_proj.weight"' lm-nano.html
same "encoders on the page" "$(grep -oE '"(module|parameter)":"encoder[^"]*' lm-nano.html | head -n 1)" ""

if ! has_chromium; then
  skipped "walking through the page" "chromium-headless-shell is not installed or does not start"
  exit 0
fi
# The page visits all its steps and, where it knows how an element was computed, computes it again.
"$GYRE" inspect page --preset lm-tiny --attention linear --differences 20 --output rope.html
check "the page of linear attention has $(wc -c < rope.html) bytes" test "$(wc -c < rope.html)" -lt 3000000
"$GYRE" inspect page --preset llama-tiny --differences 20 --output llama-tiny.html
pages="transformer-tiny.html lm-nano.html bert-mini.html lm-tiny.html llama-tiny.html rope.html run.html pair.html mlm.html lm.html big.html"
if grep -qE '^CPU has (AVX512-BF16|FEAT_BF16): yes' <<< "$("$GYRE" --build-info)"; then
  "$GYRE" inspect page --preset transformer-tiny --precision bf16 --differences 20 --output bf16.html
  pages+=" bf16.html"
else
  skipped "walking through a page in bf16" "the CPU has no bf16"
fi
for page in $pages; do
  with_scripts $page walk.js step_page_walk.js > walked.html
  in_chromium walked.html > dom.txt
  same "$page: no errors" "$(noted errors dom.txt)" ""
  check "$page: no objects as text" test "$(grep -c '\[object' dom.txt)" -eq 0
  ops=$(nodes | grep -c '"attributes":')
  same "$page: all steps" "$(noted walked dom.txt)" $((ops + $(nodes | grep '"attributes":' | grep -c ',"gradient":{')))
  same "$page: elements that differ" "$(noted disagreements dom.txt)" 0
  same "$page: gradients that differ from finite differences" "$(noted differing dom.txt)" 0
  [ $page = big.html ] && continue
  check "$page: $(noted agreements dom.txt) elements computed again" test "$(noted agreements dom.txt)" -gt 10
  check "$page: $(noted differences dom.txt) finite differences" test "$(noted differences dom.txt)" -gt 10
  recomputed="linear attention linear_cross_entropy"
  [ $page = rope.html ] && recomputed="linear rope elu_plus_one"
  [ $page = llama-tiny.html ] && recomputed="attention rms_norm gated_activation add"
  for op in $recomputed; do
    check "$page: $op among the elements computed again: $(noted agreements-by-op dom.txt)" \
      grep -qE "(^|, )$op [1-9]" <<< "$(noted agreements-by-op dom.txt)"
  done
done
