#!/usr/bin/env bash
# Tests perplexity at lengths other than the training length, the script that compares encodings, and the plots of
# positions.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools
close() { # close WHAT GOT WANTED
  awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(d < 1e-4 * b && d > -1e-4 * b) }' || fail "$1: expected $3, got $2"
  echo "ok: $1"
}

from_corpus train.en
awk '{ print } NR % 100 == 0 { print "" }' train.en > books.txt
export PIECES=300
experiment() {
  tools/experiments/extrapolation.sh books.txt out/ --updates 2 --lengths 16,32,48 --tokens 480 --threads 1 "$@" -- \
    --layers 1 --dim-emb 32 --transformer-dim-ffn 32 --transformer-heads 4 --max-length 32 --quiet
}
experiment --only learned,alibi,rope > experiment.log 2>&1 || { cat experiment.log >&2; fail "the experiment"; }
same "a result for each encoding and scaling" "$(cd out/results && echo *)" "alibi.json learned.json rope-linear.json rope-ntk.json rope-yarn.json rope.json"
for protocol in full cut sliding; do picture "the curves of $protocol" out/$protocol.svg; done
check "the table" grep -qE '^\| learned \| [0-9.]+ \| [0-9.]+ \| n/a \|$' out/report.md
contains '^\{"length":32,"results":\{"learned":\{"model":.*\}\}$' < out/report.json || fail "report.json"
cp -r out/runs runs
experiment --only alibi,rope > again.log 2>&1 || { cat again.log >&2; fail "the experiment again"; }
check "existing runs are kept" diff -r runs out/runs
experiment --grid haar --only haar-0-7,haar-0-1 > grid.log 2>&1 || { cat grid.log >&2; fail "the grid"; }
contains '^wavelet-shifts = \[0, 1, 2, 3\]$' < out/runs/haar-0-1/train.toml || fail "the shifts that fill a head"
rm out/results/alibi.json
experiment --only alibi --protocols full > full.log 2>&1 || { cat full.log >&2; fail "the experiment with one protocol"; }
same "the protocols of the report" "$(grep '^## ' out/report.md | cut -d: -f1 | paste -sd,)" "## full,## Training"
rejects 2 'expected some of none sinusoidal .*, got ropes' experiment --only ropes

# The same for a model that exists: as it is, with scaled frequencies, and after a continuation on longer texts.
long_contexts() { # UPDATES [OPTIONS]...
  LENGTHS="16 48" TOKENS=${TOKENS-240} TRAINED=32 SCALINGS="none yarn" UPDATES=$1 CONTINUED=48 KEYS=256 SAMPLES=1 \
    tools/experiments/long_contexts.sh out/runs/rope books.txt long "${@:2}" > long.log 2> long.err
}
long_contexts 0 || { cat long.err >&2; fail "long contexts"; }
check "the expected time is said" grep -qE '^expected time of the scores without continuation: [0-9]+ minutes?$' long.err
cp long/results/yarn-48.json first.json
long_contexts 2 --quiet || { cat long.err >&2; fail "long contexts"; }
check "a second call says no time" test -z "$(grep expected long.err)"
same "the rows of the table" "$(sed -nE 's/^\| ([a-z]+) \| [0-9]+\.[0-9]+ \| [0-9]+\.[0-9]+ \|$/\1/p' long/table.md | paste -sd,)" none,yarn,continued
check "existing scores are kept" cmp first.json long/results/yarn-48.json
check "the continuation begins with another scaling" grep -q 'initial weights: of another architecture: .*"none" -> "yarn"' long/continued/train.log
picture "pass keys before the continuation" long/passkey-as-it-is.svg
picture "pass keys after it" long/passkey-continued.svg
long=$(sed -nE 's/.*"perplexity":([0-9.]+).*/\1/p' long/results/none-48.json)
same "the score is that of the command" "$long" "$(build/gyre evaluate extrapolation --model out/runs/rope --input long/held-out.txt --lengths 48 \
  --protocol full --tokens 240 --precision auto --json --quiet | sed -nE 's/.*"perplexity":([0-9.]+).*/\1/p')"

long_error() { "$@" || { local status=$?; cat long.err >&2; return $status; }; }
rejects 2 'has results of other settings: TOKENS=240 ' long_error env TOKENS=480 bash -c "$(declare -f long_contexts); long_contexts 0"
rejects 2 'long_contexts: --quiet would have no effect' long_error long_contexts 0 --quiet
yarn=$(sed -nE 's/.*"perplexity":([0-9.]+).*/\1/p' long/results/yarn-48.json)
same "YaRN knows the length of the training" "$yarn" "$(build/gyre evaluate extrapolation --model out/runs/rope --input long/held-out.txt --lengths 48 \
  --trained-length 32 --rope-scaling yarn --rope-scaling-factor 1.5 --protocol full --tokens 240 --precision auto --json --quiet | sed -nE 's/.*"perplexity":([0-9.]+).*/\1/p')"

evaluate() { # evaluate ENCODING LENGTHS OPTIONS...
  build/gyre evaluate extrapolation --model "out/runs/$1" --input out/held-out.txt --lengths "$2" --tokens 490 "${@:3}"
}
evaluate rope 16,32,48 --json > rope.json 2> rope.log
contains '^\{"model":"out/runs/rope","position":"rope","trained_length":32,"tokens":480,"rows":\[\{"length":16,"protocol":"cut","perplexity":[0-9.]+,"cross_entropy":[0-9.]+,"tokens":480,"seconds":[0-9.e-]+\},' < rope.json ||
  fail "the summary: $(cat rope.json)"
same "one progress line per score" "$(grep -cE '^(cut|full|sliding) at length (16|32|48): perplexity [0-9.]+ : ' rope.log)" 9
score() { grep -oE "\"length\":$2,\"protocol\":\"$3\",\"perplexity\":[0-9.]+" "$1" | grep -oE '[0-9.]+$'; }
close "a length within the training length is not cut" "$(score rope.json 16 cut)" "$(score rope.json 16 full)"
evaluate rope 48 --protocol sliding --mini-batch-words 7 --json --quiet > chunks.json
close "the batch size does not change the score" "$(score chunks.json 48 sliding)" "$(score rope.json 48 sliding)"
evaluate rope 48 --protocol full --rope-scaling linear --rope-step 2 --rope-scaling-factor 2 --json --quiet > same.json
close "a position step of two and a scaling factor of two cancel" "$(score same.json 48 full)" "$(score rope.json 48 full)"
evaluate learned 16,32,48 > learned.txt 2> learned.log
contains '^ +48 +[0-9.]+ +n/a +n/a$' < learned.txt || fail "the table: $(cat learned.txt)"
check "the reason for a missing score" grep -q '^n/a, full at length 48: learned has positions up to 32$' learned.txt
evaluate alibi 16 --protocol full --quiet > alibi.txt 2> quiet.log
same "quiet" "$(wc -c < quiet.log)" 0
rejects 2 'rope-scaling would have no effect: the longest of --lengths, 32, is not beyond the training length, 32' evaluate rope 16,32 --rope-scaling ntk
rejects 2 'trained-length\] expected at least 0, got -1' evaluate rope 16 --trained-length -1
rejects 2 'rope-scaling would have no effect: the model.s positions are alibi' evaluate alibi 16 --rope-scaling ntk
rejects 2 'rope-scaling-factor would have no effect: --rope-scaling is none' evaluate rope 16 --rope-scaling-factor 2
rejects 1 'expected at least as many tokens as the longest of --lengths, 9999, got 490' evaluate rope 9999
rejects 2 '--protocol: expected one of cut, full, sliding' evaluate rope 16 --protocol slide

# Attention weights of all heads of two models: every row sums to one.
build/gyre plot attention --model out/runs/rope out/runs/alibi --text "A man is riding a horse." --head all --output weights.svg --data weights.json
picture "attention weights" weights.svg
same "heads of both models" "$(grep -o '"head":[0-9]' weights.json | sort | uniq -c | tr -s ' ' | paste -sd';')" ' 2 "head":0; 2 "head":1; 2 "head":2; 2 "head":3'
grep -oE '\[[0-9.,e-]+\]' weights.json | tr -d '[]' | awk -F, '{ s = 0; for (i = 1; i <= NF; ++i) s += $i; if (s < 0.9999 || s > 1.0001) exit 1 }' ||
  fail "a row of weights does not sum to one"
build/gyre plot attention --model out/runs/rope --text "A man." --threshold 0.1 --head 1,2 --output threshold.svg
picture "attention weights by a threshold" threshold.svg
rejects 2 '--layer: expected one of the 1 layers with softmax attention, counted from 0, got 3' build/gyre plot attention --model out/runs/rope --text "A man." --layer 3
rejects 2 "--head: expected numbers from 0 to 3 or 'all', got 4" build/gyre plot attention --model out/runs/rope --text "A man." --head 4

# At distance 0 the bound is (d/2 + 1) / 2.
build/gyre plot decay --rope-base 10000,500000 --dims 128 --output decay.svg --data decay.json
picture "RoPE's decay" decay.svg
same "the bound at distance 0" "$(grep -oE '"bound":\[[0-9.]+' decay.json | paste -sd' ')" '"bound":[32.5 "bound":[32.5'
rejects 2 '--dims: expected an even number of at least 2, got 7' build/gyre plot decay --dims 7

for position in rope sinusoidal learned shaw nezha xl t5 tupe deberta alibi wavelet; do
  build/gyre plot position --position $position --dim-emb 32 --transformer-heads 4 --distance 20 --output $position.svg --data $position.json
  picture "the contribution of $position" $position.svg
done
same "ALiBi's slope of the first of four heads" "$(grep -oE '"bias, head 0","values":\[[0-9.-]+' alibi.json | grep -oE '[0-9.-]+$')" -5.0
build/gyre plot position --position wavelet --dim-emb 32 --transformer-heads 4 --distance 20 --rows --output rows.svg
picture "the rows of a wavelet" rows.svg
build/gyre plot position --model out/runs/learned --distance 20 --output trained.svg
picture "the contribution of a trained encoding" trained.svg
rejects 1 'none contributes nothing to a score' build/gyre plot position --position none
rejects 2 'model defines the encoding' build/gyre plot position --model out/runs/rope --position alibi
rejects 1 'learned has positions up to 32' build/gyre plot position --model out/runs/learned --distance 40
