#!/usr/bin/env bash
# Tests gyre generate from outside: prompts, ends, streams, samples and errors, with small language models.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
generate() { build/gyre generate "$@" 2> report.txt; }

from_corpus {train,val}.en
as_documents train.en > books.txt
build/gyre vocab --input books.txt --type bpe --size 200 --output vocab.model 2> vocab.log
small="--dim-emb 48 --transformer-heads 6 --layers 2 --transformer-dim-ffn 48 --max-length 32 --mini-batch 8 --quiet"
build/gyre train lm --preset llama-tiny $small --train-sets books.txt --vocab vocab.model --model lm/ --after 150u --learn-rate 0.003
greedy="--model lm/ --temperature 0 --max-tokens 12"

generate $greedy --prompt 'the' > one.txt
contains '^the' < one.txt || fail "the prompt comes first: $(cat one.txt)"
contains '^prompts: 2 tokens in [0-9.]+ s, [0-9.]+ tokens/s$' < report.txt || fail "the speed of the prompt: $(cat report.txt)"
contains '^continuations: [0-9]+ tokens in .*, [0-9.]+ GB/s of weights$' < report.txt || fail "the speed of the continuation"
generate $greedy --prompt 'the' --precision int8 > int8.txt
contains '^weights: packed for int8 in [0-9.]+ s$' < report.txt || fail "the time of packing: $(cat report.txt)"
check "a greedy continuation is always the same" cmp one.txt <(generate $greedy --prompt 'the')
same "without the prompt" "the$(generate $greedy --prompt the --no-echo)" "$(cat one.txt)"
check "from standard input" cmp one.txt <(echo the | generate $greedy)
head -n 5 val.en | cut -d ' ' -f 1-3 > prompts.txt
generate $greedy --input prompts.txt --output together.txt
for batch in 1 2; do
  check "batches of $batch" cmp together.txt <(generate $greedy --input prompts.txt --mini-batch $batch)
done
same "a line for each prompt" "$(wc -l < together.txt)" 5
same "an empty prompt" "$(generate $greedy --prompt '' | wc -l)" 1

# Random continuations depend on the seed, and not on the batch or the threads.
random="--model lm/ --max-tokens 10 --samples 3 --top-k 50 --top-p 0.95 --min-p 0.001 --repetition-penalty 1.1"
generate $random --input prompts.txt --seed 5 > five.txt
same "samples" "$(wc -l < five.txt)" 15
check "other batches" cmp five.txt <(generate $random --input prompts.txt --seed 5 --mini-batch 1 --threads 2)
if cmp -s five.txt <(generate $random --input prompts.txt --seed 6); then fail "the seed changes nothing"; fi

# Beam search: the best continuation first, and no worse than the greedy one. A prompt does not depend on its batch.
beams="--model lm/ --beam-size 3 --max-tokens 8"
generate $beams --n-best 3 --input prompts.txt > beams.txt
same "the n best continuations" "$(wc -l < beams.txt)" 15
check "the best one" cmp <(sed -n '1~3p' beams.txt) <(generate $beams --input prompts.txt --mini-batch 2)
total() { sed -E 's/.*"log_probs":\[([^]]*)\].*/\1/' | tr ',' '\n' | awk '{ sum += $1 } END { print sum }'; }
generate $greedy --max-tokens 8 --prompt the --json | total > greedy.total
generate $beams --length-penalty 0 --prompt the --json | sed -E 's/.*"score":([-0-9.e]+).*/\1/' > beam.total
check "a beam finds nothing worse than greedy search" awk 'NR == 1 { greedy = $1 } NR == 2 { exit !($1 >= greedy - 1e-4) }' greedy.total beam.total
generate $beams --n-best 2 --prompt the --json > beams.json
contains '"log_probs":\[[-0-9.e,]+\],"score":-[0-9.]+\}$' < beams.json || fail "JSON of a beam search: $(cat beams.json)"
contains '^continuations: [0-9]+ tokens in' < report.txt || fail "the speed of the beam search"

generate $beams --prompt the --repetition-penalty 3 --json > penalized.json
if cmp -s penalized.json <(generate $beams --prompt the --json); then fail "the penalty changes nothing in a beam search"; fi
text=$(generate $beams --prompt the --no-echo)
stop=${text:4:3}
generate $beams --prompt the --stop "$stop" --n-best 3 --json > stopped.json
contains '"end":"stop"' < stopped.json || fail "a stop string of a beam search: $(cat stopped.json)"
same "no text of a beam search has the stop string" "$(grep -oE '"text":"[^"]*"' stopped.json | { grep -cF "$stop" || true; })" 0

# A prompt that ends with a space has one space before its continuation.
same "a space at the end of a prompt" "$(generate $greedy --prompt 'the ')" "$(cat one.txt)"

# JSON: text, ids and log-probabilities.
generate $greedy --prompt 'the' --json > one.json
contains '^\{"prompt":"the","text":".*","end":"(eos|length)","ids":\[[0-9,]+\],"log_probs":\[-[0-9.e,-]+\]\}$' < one.json || fail "JSON: $(cat one.json)"
same "the text in JSON" "the$(sed 's/.*"text":"\([^"]*\)".*/\1/' one.json)" "$(cat one.txt)"

# A string of the continuation ends it before the string.
whole=$(generate $greedy --prompt the --no-echo)
stop=${whole:4:3}
generate $greedy --prompt the --stop "no such text" "$stop" --json > stopped.json
contains '"end":"stop"' < stopped.json || fail "a stop string: $(cat stopped.json)"
before=${whole%%"$stop"*}
same "a text ends before a stop string" "$(generate $greedy --prompt the --no-echo --stop "$stop")" "$before"

# A text appears while it is generated: it has a beginning while the program still runs.
{ build/gyre generate --model lm/ --max-tokens 20000 --stop 'no such text' --prompt 'the' 2> /dev/null; echo ended; } > slow.txt &
writer=$!
for _ in $(seq 200); do [ "$(wc -c < slow.txt)" -gt 10 ] && break; sleep 0.02; done
appeared=$(cat slow.txt)
pkill -P "$writer" 2> /dev/null || true
wait "$writer" 2> /dev/null || true
if [ "${appeared%ended}" != "$appeared" ]; then
  skipped "a text that appears as it is generated" "the text of this model ended early"
else
  check "the beginning of a long text" [ "${#appeared}" -gt 10 ]
fi

# Other models: GPT-2 with its table of positions, bytes, a window, one that was imported and has no vocabulary.
build/gyre train lm --preset gpt2-small $small --max-positions 32 --train-sets books.txt --vocab vocab.model --model gpt2/ --after 2u
generate --model gpt2/ --prompt 'the' --temperature 0 --max-tokens 100 --json > limited.json
same "a text ends where the positions end" "$(sed 's/.*"ids":\[\([^]]*\).*/\1/' limited.json | tr ',' '\n' | wc -l)" 31
from_corpus bytes.model
build/gyre train lm --preset neox-160m $small --documents whole --attention window --attention-window 8 --rotary-dims 4 \
  --train-sets books.txt --vocab bytes.model --model bytes/ --after 2u
generate --model bytes/ --prompt 'the' --max-tokens 60 --json | contains '"end":"' || fail "bytes"
generate --model bytes/ --max-tokens 60 --temperature 9 --samples 20 < <(printf 'a\nb\n') > several.txt
same "a line of each of several texts" "$(wc -l < several.txt)" 40
check "whole characters" iconv -f UTF-8 -t UTF-8 -o /dev/null several.txt
generate --model bytes/ --max-tokens 60 --temperature 9 --samples 20 --line-breaks < <(printf 'a\nb\n') > broken.txt
check "line breaks on request" cmp <(tr '\n\r' '  ' < broken.txt) <(tr '\n\r' '  ' < several.txt)
[ "$(wc -l < broken.txt)" -gt 40 ] || fail "no line break in 40 texts"
build/gyre export --to hf --model lm/ --output hf/ > export.txt
check "the model card of a decoder" contains '^pipeline_tag: text-generation$' < hf/README.md
contains 'from transformers import pipeline' < hf/README.md || fail "the use in the model card"
build/gyre export --to hf --model gpt2/ --output hf-gpt2/ > export.txt
check "the positions of a GPT-2 in its card" contains '^- at most 32 tokens of input$' < hf-gpt2/README.md
build/gyre import --from hf hf/ --output again/ 2> import.txt
contains '^made again/: decoder-only of ' < import.txt || fail "the kind of an imported decoder: $(cat import.txt)"
contains '"max_position_embeddings": 32,' < hf/config.json || fail "the training length in config.json"
rejects 1 'hf/config.json: expected the config.json of a run, found that of a model of Hugging Face: gyre import makes' build/gyre generate --model hf/ --prompt a
rejects 2 'hf/config.json: expected the config.json of a run, found that of a model of Hugging Face' \
  build/gyre train lm --init-from hf/ --train-sets books.txt --after 1u --model none/
check "a model that was exported and imported" cmp one.txt <(generate --vocab vocab.model --model again/ --temperature 0 --max-tokens 12 --prompt the)

rejects 2 '--temperature. expected 0 or a number between 0.001 and 1000, got -1' build/gyre generate --model lm/ --prompt a --temperature -1
rejects 2 '--top-p. expected a number above 0 and at most 1, got 0' build/gyre generate --model lm/ --prompt a --top-p 0
rejects 2 '--top-k would have no effect: --temperature is 0' build/gyre generate --model lm/ --prompt a --temperature 0 --top-k 3
rejects 2 '--input would have no effect: there is a --prompt' build/gyre generate --model lm/ --prompt a --input prompts.txt
rejects 2 '--stop. expected text, got an empty text' build/gyre generate --model lm/ --prompt a --stop ''
rejects 2 '--max-tokens. expected a number from 1' build/gyre generate --model lm/ --prompt a --max-tokens 0
rejects 2 '--stop. expected UTF-8, got other bytes' build/gyre generate --model lm/ --prompt a --stop "$(printf '\xFF')"
rejects 2 '--max-tokens: expected an integer from -2147483648 to 2147483647, got 99999999999' build/gyre generate --model lm/ --prompt a --max-tokens 99999999999
rejects 2 '--repetition-penalty. expected a number from 0.001 to 1000, got 1e-38' build/gyre generate --model lm/ --prompt a --repetition-penalty 1e-38
rejects 2 '--no-echo would have no effect: --json has the prompts' build/gyre generate --model lm/ --prompt a --json --no-echo
rejects 2 '--length-penalty would have no effect: --beam-size is 1' build/gyre generate --model lm/ --prompt a --length-penalty 2
rejects 2 '--temperature would have no effect: --beam-size is above 1' build/gyre generate --model lm/ --prompt a --beam-size 2 --temperature 0.5
rejects 1 "lm/*: the run has no checkpoint 'best': no metric was validated" build/gyre generate --model lm/ --prompt a --checkpoint best
long=$(head -c 400 books.txt | tr '\n' ' ')
rejects 1 '^gyre: --prompt: expected a prompt of at most 32 tokens' build/gyre generate --model gpt2/ --prompt "$long"
same "nothing is written before a prompt is checked" "$(cat stdout.txt)" ""
printf 'a\nb\n%s\n' "$long" > long.txt
rejects 1 '^gyre: long.txt:3: expected a prompt of at most 32 tokens, the positions of the model, got' \
  build/gyre generate --model gpt2/ --input long.txt --on-bad-line error
printf 'a\n%s\n\xff\nb\n' "$long" > long.txt
limited="--model gpt2/ --temperature 0 --max-tokens 5 --input long.txt"
generate $limited > long.out
check "prompts beside bad ones" cmp <(generate --model gpt2/ --temperature 0 --max-tokens 5 < <(printf 'a\nb\n')) <(sed -n '1p;4p' long.out)
same "a blank line for each bad prompt" "$(sed -n 2,3p long.out | tr '\n' .)$(wc -l < long.out)" ..4
generate $limited > long.out
check "bad prompts are reported" contains '^long.txt: 2 lines, skipped 1 with invalid UTF-8 \(line 3\), 1 over 32 tokens \(line 2\)$' < report.txt
generate --model gpt2/ --max-tokens 5 --input long.txt --beam-size 2 --n-best 2 --json > long.out
same "JSON of bad prompts" "$(grep -c '"text":null,"end":"skipped","ids":\[\]' long.out) of $(wc -l < long.out)" '4 of 8'
build/gyre vocab --input books.txt --type wordpiece --size 300 --output vocab.txt 2> vocab.log
build/gyre train mlm --preset bert-mini --layers 1 --dim-emb 16 --transformer-heads 2 --max-length 16 --mini-batch 4 --quiet \
  --train-sets books.txt --vocab vocab.txt --model mlm/ --after 1u
rejects 1 'cannot continue texts: the model is bidirectional' build/gyre generate --model mlm/ --prompt a

# A decoder with WordPiece is exported with its tokenizer.
build/gyre train lm --preset llama-tiny $small --train-sets books.txt --vocab vocab.txt --model pieces/ --after 1u
build/gyre export --to hf --model pieces/ --output hf-pieces/ 2> export.txt
check "the vocabulary of a decoder" cmp vocab.txt hf-pieces/vocab.txt
contains 'pipeline\("text-generation"' < hf-pieces/README.md || fail "the use of a decoder with a tokenizer"
rejects 1 'expected a bidirectional encoder, got a decoder' build/gyre train classify --preset glue-sst2 --pretrained-model hf-pieces/ \
  --train-sets books.txt --model none/ --after 1u

# Another vocabulary with as many pieces is not that of the model.
build/gyre vocab --input train.en --type unigram --size 200 --output other.model 2> vocab.log
for command in "generate --prompt the" "evaluate perplexity --input books.txt" "evaluate extrapolation --input books.txt"; do
  rejects 1 'other.model is not the vocabulary of the model .*expected the fingerprint' build/gyre $command --model lm/ --vocab other.model
done
