#!/usr/bin/env bash
# Tests gyre inspect profile, step and anomaly from outside.
. "$(dirname "$0")/lib.sh"
tiny="--preset transformer-tiny --vocab-size 300 --segments 2 --length 6"

# Profile: the rows by op and by module have the same total time; pictures and traces.
"$GYRE" inspect profile $tiny --steps 2 --json --memory memory.svg --trace trace.json > profile.json
for name in linear attention optimizer encoder.layers.0 decoder.layers.1; do
  contains "\"name\":\"$name\"" < profile.json || fail "the profile has no $name"
done
check "no op is composed" grep -q '"composed_ops":"none"' profile.json
GYRE_COMPOSED=residual_layer_norm,attention "$GYRE" inspect profile $tiny --steps 1 --json > composed.json
check "the profile names the composed ops" grep -q '"composed_ops":"residual_layer_norm, attention"' composed.json
for name in mean softmax linear; do
  contains "\"name\":\"$name\"" < composed.json || fail "the profile with composed ops has no $name"
done
! grep -q '"name":"attention"' composed.json || fail "a composed op runs its kernels"
total() { # total LIST: prints the sum of the milliseconds of its rows
  grep -oE "\"$1\":\[[^]]*\]" profile.json | grep -oE '"ms":[0-9.e+-]+' | awk -F: '{ sum += $2 } END { printf "%.3f", sum }'
}
about() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b / a > 0.999 && b / a < 1.001) }'; }
check "ops and modules add up to the same" about "$(total ops)" "$(total modules)"
check "the memory over a step is drawn" grep -q '<svg' memory.svg
check "a trace of one rank" grep -q '"name":"rank 0"' trace.json
mpirun -n 2 "$GYRE" inspect profile $tiny --steps 1 --trace ranks.json > profile.txt
check "the table names its columns" grep -qE '^by module +calls +forward ms +backward ms' profile.txt
for name in '"rank 1"' '"sum in shared memory 1"' '"wait for gradients"'; do
  check "$name in the trace of two ranks" grep -q "\"name\":$name" ranks.json
done
rejects 2 '^gyre: \[--steps\] expected at least 1, got 0$' "$GYRE" inspect profile $tiny --steps 0
rejects 2 '^gyre: --checkpoint would have no effect: there is no --model$' "$GYRE" inspect profile --checkpoint best

# Backward node by node.
cat > script.txt <<'END'
# a comment
next
break self_attn
continue
print doutput 0:2 0:4
print gradient 0 1
previous
goto 0
END
rejects 2 'script.txt:8: goto: node 0 has no step' "$GYRE" inspect step $tiny --script script.txt
sed -i '$d' script.txt
echo quit >> script.txt
"$GYRE" inspect step $tiny --script script.txt > steps.txt
check "backward begins at the loss" grep -qE '^\[1/[0-9]+\] node [0-9]+  linear_cross_entropy  in output$' steps.txt
check "a break at a module" grep -qE '^break: self_attn$' steps.txt
check "a gradient and where it goes" grep -qE '^    gradient to node [0-9]+ \([a-z_.0-9]+\): \(.*\), all in \[.*\], norm ' steps.txt
same "a slice of two rows" "$(grep -cE '^     [01]:( +[-0-9.e]+){4} \.\.$' steps.txt)" 2
"$GYRE" inspect step $tiny < script.txt > piped.txt
check "commands from a pipe have the same output" cmp <(grep -v '^>' steps.txt) piped.txt
printf 'brek nan\n' | "$GYRE" inspect step $tiny | contains '^unknown command brek; did you mean break\?' || fail "an unknown command"

"$GYRE" inspect step $tiny --json > steps.json
same "JSON has every step" "$(grep -oE '"op":' steps.json | wc -l)" "$(sed -nE 's/^\[1\/([0-9]+)\] .*/\1/p' steps.txt | head -n 1)"
same "JSON has the loss of the text" "$(grep -oE '"loss":[0-9.]+' steps.json | cut -d: -f2 | awk '{ printf "%.6g", $1 }')" \
  "$(sed -nE 's/.*: loss ([0-9.e+-]+) over .*/\1/p' steps.txt)"
same "JSON has the norm of the first gradient" \
  "$(grep -oE '"gradient":\{[^}]*\}' steps.json | head -n 1 | grep -oE '"norm":[0-9.]+' | cut -d: -f2 | awk '{ printf "%.5g", $1 }')" \
  "$(sed -nE 's/^    gradient to node .*, norm (.*)/\1/p' steps.txt | head -n 1)"
rejects 2 '^gyre: --script would have no effect: --json is given$' "$GYRE" inspect step $tiny --json --script script.txt

# Anomaly: replay a run that diverges from its checkpoint.
small_corpus > corpus.log
diverging="--after 40u --learn-rate 1e5 --lr-schedule constant --lr-warmup 0 --save-freq 1u --max-skipped 0 --seed 3 --micro-batches 2 --quiet"
small_train --model run $diverging > train.log 2>&1 && fail "training with a learning rate of 1e5 ended well"
tail -n 1 train.log | contains 'training has diverged' || { cat train.log; fail "the last line of a diverging run"; }
guilty=$(tail -n 1 train.log | sed -n 's/.*In the last of them, //p')
before=$(ls run/checkpoints | grep step | tail -n 1)
"$GYRE" inspect anomaly --model run > anomaly.txt 2> anomaly.log || { cat anomaly.log; fail "inspect anomaly"; }
check "replay names the same operation as the run" grep -qF "$guilty" anomaly.txt
same "nothing was written" "$(ls run/checkpoints | grep step | tail -n 1)" "$before"
first=$(ls run/checkpoints | grep step | head -n 1)
"$GYRE" inspect anomaly --model run --checkpoint "$first" > again.txt 2> anomaly.log
check "replay from an earlier checkpoint finds the same update" cmp anomaly.txt again.txt
mpirun -n 2 "$GYRE" inspect anomaly --model run > again.txt 2> anomaly.log
check "two ranks find it too" grep -qF "$guilty" again.txt
same "the checkpoint is named once" "$(grep -c '^model: ' anomaly.log)" 1
small_train --model calm --after 4u --save-freq 2u --quiet 2> train.log
"$GYRE" inspect anomaly --model calm --checkpoint step-00000002 --updates 2 2> anomaly.log > calm.txt
same "a run without an anomaly" "$(cat calm.txt)" "updates 3 to 4: all gradients are finite"
cp -r calm damaged
weights=damaged/checkpoints/step-00000002/model.safetensors
printf '\377' | dd of="$weights" bs=1 seek=$(($(stat -c %s "$weights") - 1)) conv=notrunc 2> dd.txt
rejects 1 'model.safetensors: tensor .*: expected checksum' "$GYRE" inspect anomaly --model damaged --checkpoint step-00000002
rejects 1 "of a checkpoint, got 'nothing'" "$GYRE" inspect anomaly --model calm --checkpoint nothing
