#!/usr/bin/env bash
# Tests runs of an older program (old_runs/, created by old_runs/make.sh): this program must read their checkpoints,
# resume them and compute the same results. Old spellings of options must have the same effect. Results are compared
# with a tolerance, because the last bits of a sum depend on the CPU's instruction set and on the compiler.
fixture=$(cd "$(dirname "$0")" && pwd)/old_runs
. "$(dirname "$0")/lib.sh"
cp -R "$fixture" runs
cp -R "$fixture" other_runs

close() { # close NAME GOT WANTED: two files must have the same words, and numbers that differ by less than 1 in 100,000
  awk '
    function differ(a, b,  d, size) {
      if (a == b) return 0
      if (a !~ /^-?[0-9]/ || b !~ /^-?[0-9]/) return 1
      d = a - b; if (d < 0) d = -d
      size = b < 0 ? -b : b
      return d > 1e-5 * (1 + size)
    }
    FNR == NR { line[++lines] = $0; next }
    { bad += split(line[++compared], got) != NF
      for (i = 1; i <= NF; ++i) bad += differ(got[i], $i) }
    END { exit bad || compared == 0 || compared != lines }' "$2" "$3" || { diff "$2" "$3" >&2 || true; fail "$1"; }
  echo "ok: $1"
}
close_facts() { # close_facts TEST GOT WANTED NAME...: compares these numbers in two JSON objects in the same way
  local what=$1 got=$2 wanted=$3 name file
  shift 3
  for file in "$got" "$wanted"; do
    for name in "$@"; do sed -n "s/.*\"$name\":\([0-9.e-]*\).*/$name \1/p" "$file"; done > "$file.facts"
  done
  close "$what" "$got.facts" "$wanted.facts"
}
losses() { sed -n 's/.*"event":"train","updates":\([0-9]*\),.*"loss":\([0-9.e-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }

# resume COMMAND UPDATE: resumes with the run's train.toml, and with only the run directory
resume() {
  local how
  for how in "--config run/train.toml" "--model run"; do
    "$GYRE" train "$1" $how --after "${2}u" --disp-freq 1u --save-freq "${2}u" 2> resume.log || { cat resume.log >&2; fail "train $1 $how"; }
    losses run | tail -n 10 > losses.txt
    close "losses of train $1 $how" losses.txt losses.expected
    "$GYRE" checkpoint verify --model run > verify.txt || fail "checkpoint verify after train $1"
    cd "../../other_runs/$(basename "$PWD")"
  done
}

cd runs/translation
"$GYRE" checkpoint verify --model run > verify.txt || fail "checkpoint verify"
"$GYRE" translate --model run --input input.en --quiet > translations.txt
check "translations" cmp translations.txt translations.expected
"$GYRE" translate --model run --beam 4 --lenpen 0.6 --nbest 1 --max-len-a 1 --max-len-b 50 --batch-size 3 --threads 1 --quiet < input.en |
  cut -d '|' -f 4 | sed 's/^ //; s/ $//' > n_best.txt
check "translations with fairseq's names of options" cmp n_best.txt translations.expected
resume nmt 2010

cd ../../runs/lm
"$GYRE" evaluate perplexity --model run --input val.txt --json > perplexity.json
close_facts "perplexity" perplexity.json perplexity.expected \
  perplexity cross_entropy accuracy tokens documents max_length characters bytes bits_per_byte
resume lm 410

cd ../../runs/mlm
"$GYRE" forward --model run --ids ids.txt --output logits.safetensors
tail -c $((4 * 5 * $(wc -l < vocab.txt))) logits.safetensors | od -An -v -t f4 -w20 > logits.txt
close "logits of a masked language model" logits.txt logits.expected
resume mlm 410

cd ../../runs/classifier
"$GYRE" evaluate classify --model run --input val.tsv --output labels.txt --json > metrics.json 2> rows.txt
check "labels" cmp labels.txt labels.expected
close_facts "metrics of a classifier" metrics.json metrics.expected rows accuracy cross-entropy
resume classify 410

cd ../../runs/translation
"$GYRE" train nmt --train-sets train.en train.de --vocabs vocab.model --model marian --task transformer-tiny --dim-emb 8 \
  --enc-depth 1 --dec-depth 1 --transformer-heads 2 --transformer-dim-ffn 16 --transformer-dropout 0.2 \
  --transformer-ffn-activation gelu --transformer-train-position-embeddings --mini-batch-words 100 --optimizer-delay 2 \
  --learn-rate 1e-2 --lr-warmup 3 --optimizer-params 0.9 0.95 1e-8 --clip-norm 1 --exponential-smoothing 0.1 --after-batches 5 \
  --disp-freq 1 --cpu-threads 1 --quiet
losses marian > losses.txt
close "losses with Marian's names of options" losses.txt spelled.expected
"$GYRE" train nmt --train-sets train.en train.de --vocab vocab.model --save-dir fairseq --arch transformer-tiny \
  --encoder-embed-dim 8 --encoder-layers 1 --decoder-layers 1 --encoder-attention-heads 2 --encoder-ffn-embed-dim 16 \
  --dropout 0.2 --activation-fn gelu --encoder-learned-pos --max-tokens 100 --update-freq 2 --lr 1e-2 --warmup-updates 3 \
  --adam-betas 0.9 0.95 --adam-eps 1e-8 --clip-norm 1 --ema-decay 0.9 --max-update 5 --log-interval 1 --threads 1 --quiet
losses fairseq > losses.txt
close "losses with fairseq's names of options" losses.txt spelled.expected
