#!/usr/bin/env bash
# Tests the race to a quality with models that train in a moment: Gyre's arms, those of PyTorch with a stand-in for the
# peer, resuming, and errors.
. "$(dirname "$0")/lib.sh"
"$GYRE" data generate --output data --train 400 --val 20 --test 20
mv data/test.en data/test_2016_flickr.en
mv data/test.de data/test_2016_flickr.de
as_documents data/train.en > text.txt

# Stands in for Python with torch: takes the initial weights for trained ones. Compiled steps are the faster ones.
cat > python << 'PYTHON'
#!/usr/bin/env bash
set -eu
[ "$1" != -c ] || exit 0
echo "$*" >> calls.txt
rate=100
while [ $# -gt 0 ]; do
  case $1 in
    --template) template=$2 ;;
    --output) output=$2 ;;
    --compile) rate=200 ;;
  esac
  shift
done
mkdir -p "$(dirname "$output")"
cp "$template" "$output"
cp "$(dirname "$template")"/../../{config.json,vocab.model} "$(dirname "$output")/"
echo "{\"torch\":\"2.9\",\"seconds\":90.0,\"tokens_per_second\":$rate.0}"
PYTHON
chmod +x python

race() {
  env PYTHON=./python UPDATES=10 WARMUP=2 PRECISION=fp32 SEEDS="${SEEDS:-1}" PIECES=300 "$@" "$ROOT/tools/experiments/race.sh" data out \
    > table.txt 2> log.txt || { cat out/log log.txt >&2; fail "race.sh"; }
}
columns() { cut -f "$1" "out/race.tsv" | tr '\t' ' ' | paste -sd,; }

TEXT=text.txt LOSS=5.7 race
same "the arms" "$(columns 1-3)" "gyre-38 1 10,gyre-41 1 10,torch-38 1 10,torch-41 1 10,novels 1 $(cut -f 3 out/race.tsv | tail -n 1)"
same "no model of ten updates reaches the goal" "$(grep -v novels out/race.tsv | cut -f 6,7 | sort -u | tr '\t' ' ' | paste -sd,)" \
  "38 no,41 no"
check "PyTorch's own seconds count" grep -qP '^torch-38\t1\t10\t1\.50\t' out/race.tsv
check "its speeds" grep -q '^torch-38-1: PyTorch trains 100.0 tokens/s eager, 200.0 compiled$' log.txt
same "the faster way trains" "$(grep -c -- '--compile .*--updates 10 ' calls.txt)" 2
novel=$(grep '^novels' out/race.tsv)
awk -F'\t' '{ exit !($5 > 0 && $7 == ($5 <= 5.7 ? "yes" : "no")) }' <<< "$novel" || fail "the loss of the novels: $novel"
same "the table" "$(head -n 1 table.txt | cut -f 4-5)" "minutes	quality"

touch before
TEXT=text.txt LOSS=5.7 race
same "no training is repeated" "$(find out -newer before -name metrics.jsonl | wc -l)" 0
ARMS=novels SEEDS=2 TEXT=text.txt LOSS=0.1 race
check "the last loss counts if none reaches the goal" grep -qP '^novels\t2\t10\t.*\t0\.1\tno$' out/race.tsv

rejects 2 'PyTorch compiling' "$ROOT/tools/experiments/race.sh" data
ARMS=marian rejects 2 'expected gyre-38, .*, got marian' "$ROOT/tools/experiments/race.sh" data out
ARMS=novels rejects 1 'needs TEXT' "$ROOT/tools/experiments/race.sh" data out
ARMS=torch-38 PYTHON=false rejects 1 'lacks torch' "$ROOT/tools/experiments/race.sh" data out
