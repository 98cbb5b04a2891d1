#!/usr/bin/env bash
# Tests that Marian's and fairseq's names of options have the effect of Gyre's.
. "$(dirname "$0")/lib.sh"
small_corpus

losses() { sed -n 's/.*"event":"train","updates":\([0-9]*\),.*"loss":\([0-9.e-]*\).*/\1 \2/p' "$1/metrics.jsonl"; }
train() { "$GYRE" train nmt --train-sets train.en train.de "$@" --quiet; }
train --vocab vocab.model --model gyre --preset transformer-tiny --dim-emb 8 --enc-depth 1 --dec-depth 1 \
  --transformer-heads 2 --transformer-dim-ffn 16 --transformer-dropout 0.2 --transformer-ffn-activation gelu --position learned \
  --mini-batch-words 100 --optimizer-delay 2 --learn-rate 1e-2 --lr-warmup 3 --optimizer-params 0.9 0.95 1e-8 --clip-norm 1 \
  --ema 0.9 --after 5u --disp-freq 1u --cpu-threads 1
train --vocabs vocab.model --model marian --task transformer-tiny --dim-emb 8 --enc-depth 1 --dec-depth 1 \
  --transformer-heads 2 --transformer-dim-ffn 16 --transformer-dropout 0.2 --transformer-ffn-activation gelu \
  --transformer-train-position-embeddings --mini-batch-words 100 --optimizer-delay 2 --learn-rate 1e-2 --lr-warmup 3 \
  --optimizer-params 0.9 0.95 1e-8 --clip-norm 1 --exponential-smoothing 0.1 --after-batches 5 --disp-freq 1 --cpu-threads 1
train --vocab vocab.model --save-dir fairseq --arch transformer-tiny --encoder-embed-dim 8 --encoder-layers 1 \
  --decoder-layers 1 --encoder-attention-heads 2 --encoder-ffn-embed-dim 16 --dropout 0.2 --activation-fn gelu \
  --encoder-learned-pos --max-tokens 100 --update-freq 2 --lr 1e-2 --warmup-updates 3 --adam-betas 0.9 0.95 --adam-eps 1e-8 \
  --clip-norm 1 --ema-decay 0.9 --max-update 5 --log-interval 1 --threads 1
same "losses" "$(losses gyre | wc -l)" 5
check "losses with Marian's names" cmp <(losses gyre) <(losses marian)
check "losses with fairseq's names" cmp <(losses gyre) <(losses fairseq)

"$GYRE" translate --model gyre --input val.en --beam-size 4 --length-penalty 0.6 --max-length 50 --quiet > plain.txt
"$GYRE" translate --model gyre --beam 4 --lenpen 0.6 --nbest 1 --max-len-a 1 --max-len-b 50 --batch-size 3 --threads 1 --quiet \
  < val.en | cut -d '|' -f 4 | sed 's/^ //; s/ $//' > n_best.txt
check "translations with fairseq's names" cmp plain.txt n_best.txt
