#!/usr/bin/env bash
# Tests gyre inspect tape: consistent numbers, restriction to a module, and a graph that Graphviz can draw.
. "$(dirname "$0")/lib.sh"

# sum FIELD FILE: prints the sum over all nodes.
sum() { sed 's/"modules":.*//' "$2" | grep -oE "\"$1\":[0-9.e+]+" | awk -F: '{ s += $2 } END { printf "%.0f\n", s }'; }
# of MODULE FIELD FILE: prints the total of a module.
of() { grep -oE "\{\"path\":\"$1\"[^}]*\}" "$3" | grep -oE "\"$2\":[0-9.e+]+" | awk -F: '{ printf "%.0f\n", $2 }'; }

inspect() { "$GYRE" inspect tape --cpu-threads 1 "$@"; }

inspect --json > all.json
same "the FLOPs of the rows are those of the forward pass" "$(sum flops all.json)" \
  "$(grep -oE '"forward_flops":[0-9.e+]+' all.json | awk -F: '{ printf "%.0f\n", $2 }')"
for field in ops saved_bytes flops; do
  parts=0
  for part in encoder decoder output; do parts=$((parts + $(of $part $field all.json))); done
  same "$field add up over the parts of the model" "$parts" "$(of '' $field all.json)"
done
same "all that is saved" "$(sum saved_bytes all.json)" "$(of '' saved_bytes all.json)"
contains '"op":"attention".*"attributes":\{"heads":"[0-9]+","rotary":"[0-9]+","segments":"2"\}' < all.json || fail "the attributes of attention"
contains '"name":"angles","shape":\[[0-9]+,[0-9]+\],"dtype":"f32","bytes":[0-9]+,"holder":[0-9]+' < all.json || fail "the saved tensors of attention"

layer=encoder.layers.1
inspect --module $layer --json > layer.json
same "the saved bytes of a part" "$(sum saved_bytes layer.json)" "$(of $layer saved_bytes all.json)"
grep -oE '"module":"[^"]+"' layer.json | grep -v "\"$layer" && fail "ops of other modules"

inspect --module $layer --formulas > table.txt
contains "^ *[0-9]+ +$layer.self_attn +attention +heads=" < table.txt || fail "the row of attention: $(cat table.txt)"
contains "^$layer.ffn +2 +[0-9.]+ k +[0-9.]+ KiB +[0-9.]+ MFLOP" < table.txt || fail "the totals of a module: $(cat table.txt)"
contains '^  dv = P\^T dout' < table.txt || fail "the formula of attention"
inspect --depth 1 | contains '^encoder\.' && inspect --depth 1 | sed '1,/^module/d' | contains '^encoder\.' && fail "--depth 1 shows more"

if command -v dot > /dev/null; then
  inspect --module $layer --dot layer.dot --svg layer.svg > out.txt
  check "graphviz reads the graph" dot -Tplain -o layer.plain layer.dot
  same "a cluster of each module" "$(grep -c 'subgraph cluster_[0-9_]* {' layer.dot)" 3
  contains '<svg' < layer.svg || fail "the picture"
  contains 'gradient' < layer.svg || fail "the gradients of parameters"
  contains 'ellipse.*from residual_layer_norm' < layer.dot || fail "the inputs from outside the module"
  inspect --svg all.png > out.txt
  check "a picture in pixels" test -s all.png
else
  skipped "pictures" "graphviz is not installed"
fi
rejects 1 'cannot run the program dot: install Graphviz' /usr/bin/env PATH=/nowhere "$GYRE" inspect tape --svg none.svg
rejects 2 '--svg: expected a name that ends in .png or .svg, got tape.pdf' inspect --svg tape.pdf
rejects 2 '--module: expected encoder, decoder, output, or a part of one, got encoder.layer.1; did you mean encoder.layers.1' inspect --module encoder.layer.1
rejects 2 '--depth\] expected at least 1, got 0' inspect --depth 0
rejects 2 '--preset would have no effect' inspect --model run --preset lm-tiny

inspect --preset lm-tiny --position t5 --attention window --attention-window 4 --json > lm.json
contains '"causal":"yes","window":"3"' < lm.json || fail "the window of attention"

# The sizes of both kinds of models are options, and a causal model is a decoder.
inspect --preset lm-nano > nano.txt
contains '^decoder.layers.0 ' < nano.txt || fail "the modules of a decoder: $(cat nano.txt)"
contains 'parameter +decoder.layers.0.self_attn.qkv_proj.weight' < nano.txt || fail "the parameters of a decoder"
same "encoders in a decoder" "$(grep -c encoder nano.txt)" 0
inspect --preset lm-nano --layers 2 --dim-emb 16 --transformer-heads 4 --norm-type rms --vocab-size 32 --json > wider.json
contains '"path":"decoder.layers.1"' < wider.json || fail "two layers"
contains '"op":"attention","attributes":\{"heads":"4"' < wider.json || fail "four heads"
contains '"op":"rms_norm"' < wider.json || fail "RMS norm"
contains '"shape":\[32,16\]' < wider.json || fail "the table of 32 pieces"
inspect --layers 1 --dec-depth 2 --json > shallow.json
contains '"path":"decoder.layers.1"' < shallow.json || fail "two layers of the decoder"
contains '"path":"encoder.layers.1"' < shallow.json && fail "more than one layer of the encoder"
rejects 2 '^gyre: --kv-heads would have no effect: transformer-tiny is an encoder-decoder$' inspect --kv-heads 2
rejects 2 '^gyre: --dec-depth would have no effect: lm-nano has a single stack$' inspect --preset lm-nano --dec-depth 2
rejects 2 '\[heads\] must divide dim = 8, got 3; see --transformer-heads, --dim-emb$' inspect --preset lm-nano --transformer-heads 3
rejects 2 '^gyre: --layers would have no effect: --model defines the configuration$' inspect --model run --layers 2

small_corpus
small_train --model run --after 2u --quiet
inspect --model run --precision fp32 --device cpu > run.txt
contains '^model: run' < run.txt || fail "the settings: $(head -n 5 run.txt)"
contains 'parameter +encoder.layers.0.self_attn.qkv_proj.weight' < run.txt || fail "the parameters of the run"
