#!/usr/bin/env bash
# Tests the race to a quality with models that train in a moment: Gyre's arms, those of PyTorch with a stand-in for the
# peer, resuming, and errors.
. "$(dirname "$0")/lib.sh"
small_corpus
mkdir data
mv {train,val}.{en,de} data
mv test.en data/test_2016_flickr.en
mv test.de data/test_2016_flickr.de
as_documents data/train.en > text.txt
unset MARIAN ARMS TEXT LOSS

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

# Stands in for Marian: refuses to continue a model, and knows the translations.
cat > marian << 'MARIAN'
#!/usr/bin/env bash
set -eu
echo "$*" >> marian.txt
while [ $# -gt 0 ]; do
  if [ "$1" = --model ]; then
    [ ! -e "$2" ]
    touch "$2"
  fi
  [ "$1" != decode ] || cat data/test_2016_flickr.de
  shift
done
MARIAN
chmod +x marian

race() {
  env PYTHON=./python UPDATES=10 WARMUP=2 PRECISION=fp32 SEEDS="${SEEDS:-1}" PIECES=300 "$@" "$ROOT/tools/experiments/race.sh" data out \
    > table.txt 2> log.txt || { cat out/log log.txt >&2; fail "race.sh"; }
}
columns() { cut -f "$1" "out/race.tsv" | tr '\t' ' ' | paste -sd,; }

TEXT=text.txt LOSS=100 race
same "the arms" "$(columns 1-3)" "gyre-38 1 10,gyre-41 1 10,torch-38 1 10,torch-41 1 10,novels 1 1"
same "no model of ten updates reaches the goal" "$(grep -v novels out/race.tsv | cut -f 6,7 | sort -u | tr '\t' ' ' | paste -sd,)" \
  "38 no,41 no"
check "PyTorch's own seconds count" grep -qP '^torch-38\t1\t10\t1\.50\t' out/race.tsv
check "its speeds" grep -q '^torch-38-1: PyTorch trains 100.0 tokens/s eager, 200.0 compiled$' log.txt
same "the faster way trains" "$(grep -c -- '--compile .*--updates 10 ' calls.txt)" 2
check "the first loss that reaches the goal counts" grep -qP '^novels\t1\t1\t.*\t100\tyes$' out/race.tsv
same "the table" "$(head -n 1 table.txt | cut -f 4-5)" "minutes	quality"

calls=$(wc -l < calls.txt)
touch before
TEXT=text.txt race
same "no training is repeated" "$(find out -newer before -name metrics.jsonl | wc -l) $(wc -l < calls.txt)" "0 $calls"
mkdir -p out/marian-38-1
touch out/marian-38-1/model.npz
ARMS=marian-38 MARIAN=./marian race
check "the translations of Marian" grep -qP '^marian-38\t1\t10\t[0-9.]+\t(100|99\.9)[0-9.]*\t38\tyes$' out/race.tsv
same "its calls" "$(cut -d ' ' -f 1 marian.txt | paste -sd' ')" "train decode"
ARMS=novels SEEDS=2 TEXT=text.txt LOSS=0.1 race
check "the last loss counts if none reaches the goal" grep -qP '^novels\t2\t10\t.*\t0\.1\tno$' out/race.tsv

rejects 2 'PyTorch compiling' "$ROOT/tools/experiments/race.sh" data
ARMS=fairseq rejects 2 'expected gyre-38, .*, got fairseq' "$ROOT/tools/experiments/race.sh" data out
ARMS=novels rejects 1 'needs TEXT' "$ROOT/tools/experiments/race.sh" data out
ARMS=marian-38 rejects 1 'needs MARIAN' "$ROOT/tools/experiments/race.sh" data out
ARMS=torch-38 PYTHON=false rejects 1 'lacks torch' "$ROOT/tools/experiments/race.sh" data out
