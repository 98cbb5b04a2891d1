#!/usr/bin/env bash
# Tests a decoder with byte-level BPE from end to end: vocabulary, training, generation, and the way to Hugging Face's
# format and back with its defaults of generation.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
from_corpus {train,val}.en
as_documents train.en > text.txt
build/gyre vocab --type byte-bpe --input text.txt --size 320 --output vocab.json 2> vocab.log

# Any text keeps its bytes: characters that the training has not seen, spaces, tabs and a NUL.
printf 'the  man\t\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80 e\xcc\x81 \x01\x7f int main() { return 0; }\n' > odd.txt
build/gyre encode --vocab vocab.json --ids < odd.txt > odd.ids
check "odd characters" cmp odd.txt <(build/gyre decode --vocab vocab.json --ids < odd.ids)

build/gyre train lm --preset llama-tiny --dim-emb 48 --transformer-heads 6 --layers 2 --transformer-dim-ffn 48 --max-length 32 \
  --mini-batch 8 --quiet --train-sets text.txt --vocab vocab.json --model lm/ --after 150u --learn-rate 0.003
generate() { build/gyre generate --prompt "$1" --max-tokens 16 --json "${@:2}" 2> report.txt; }
generate the --model lm/ --temperature 0 > own.json
build/gyre export --to hf --model lm/ --output hf 2> export.log
contains '"eos_token_id": [0-9]+' < hf/generation_config.json || fail "the ids of an export: $(cat hf/generation_config.json)"
build/gyre import --from hf hf --output imported 2> import.log
check "the imported model continues as the exported one" cmp own.json <(generate the --model imported --temperature 0)
same "the imported model knows the length of the training" "$(build/gyre evaluate extrapolation --model imported --input text.txt \
  --lengths 16 --protocol full --tokens 64 --json --quiet 2> /dev/null | grep -oE '"trained_length":[0-9]+')" '"trained_length":32'
check "also in a beam search" cmp <(generate the --model lm/ --beam-size 3) <(generate the --model imported --beam-size 3)

# generation_config.json: defaults for what the user does not give, and all ids that end a text.
id=$(sed -nE 's/.*"ids":\[[0-9]+,[0-9]+,([0-9]+),.*/\1/p' own.json)
config() { echo "$1" > hf/generation_config.json && build/gyre import --from hf hf --output imported --overwrite 2> import.log; }
config "{\"do_sample\": false, \"max_new_tokens\": 3, \"eos_token_id\": [$id, 2], \"top_k\": 0}"
build/gyre generate --prompt the --json --model imported > ended.json 2> ended.txt
contains '^generation_config.json: --temperature 0, --max-tokens 3$' < ended.txt || fail "the defaults: $(cat ended.txt)"
contains '"end":"eos","ids":\[([0-9]+(,[0-9]+)?)?\],' < ended.json || fail "another id that ends a text: $(cat ended.json)"
if generate the --model imported --beam-size 3 --n-best 3 | grep -E "\"ids\":\[[^]]*\b$id\b"; then fail "a beam goes on after its end"; fi
config '{"do_sample": true, "temperature": 0.5, "top_k": 7, "top_p": 0.9, "repetition_penalty": 1.2}'
generate the --model imported --top-k 3 > drawn.json
contains '^generation_config.json: --temperature 0.5, --top-p 0.9, --repetition-penalty 1.2$' < report.txt || fail "what the user gives counts"
check "the same by options" cmp drawn.json <(generate the --model lm/ --top-k 3 --temperature 0.5 --top-p 0.9 --repetition-penalty 1.2)
build/gyre export --to hf --model imported --output again 2> export.log
check "an imported model keeps its defaults" cmp hf/generation_config.json again/generation_config.json
config '{"do_sample": true, "temperature": 0.5}'
generate the --model imported > drawn.json
contains '^generation_config.json: --temperature 0.5, --top-k 50$' < report.txt || fail "the default of top_k: $(cat report.txt)"
config '{"eos_token_id": 2}'
check "no sampling by default" cmp own.json <(generate the --model imported)
generate the --model imported --top-k 3 > drawn.json
if grep -q temperature report.txt; then fail "samples that the user asks for: $(cat report.txt)"; fi
echo '{"top_p": "high"}' > hf/generation_config.json
rejects 1 'generation_config.json: top_p: expected a number, got "high"' build/gyre import --from hf hf --output imported --overwrite
rm hf/generation_config.json
build/gyre import --from hf hf --output imported --overwrite 2> import.log
check "no file is left of an earlier import" test ! -e imported/generation_config.json
echo '{"eos_token_id": 5}' > imported/generation_config.json
build/gyre train lm --model imported --overwrite --preset llama-tiny --layers 1 --dim-emb 16 --transformer-heads 2 \
  --vocab again/tokenizer.json --train-sets val.en --documents line --max-length 16 --mini-batch 2 --after 1u --quiet
check "nor after a new training" test ! -e imported/generation_config.json
build/gyre import --from hf hf --output imported --overwrite 2> import.log

# BOS: as the files of an imported tokenizer say, never twice, and as --bos and --no-bos say.
# Prints the ids of a continuation and their log-probabilities.
text() { generate "$1" --temperature 0 --model "${@:2}" | sed 's/.*"ids"//'; }
perplexity() { build/gyre evaluate perplexity --json --input val.txt --model "$@" 2> report.txt; }
as_documents val.en > val.txt
with_bos=$(text the lm/) without_bos=$(text the lm/ --no-bos)
[ "$with_bos" != "$without_bos" ] || fail "a prompt without BOS continues otherwise"
same "a model that Gyre has trained begins with BOS" "$(text the lm/ --bos)" "$with_bos"
same "no second BOS" "$(text '<|endoftext|>the' lm/)" "$with_bos"
same "an imported tokenizer with BOS in its template" "$(text the imported)" "$with_bos"
sed 's/"post_processor":.*,"decoder"/"post_processor":null,"decoder"/' again/tokenizer.json > hf/tokenizer.json
echo '{"bos_token": null, "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>", "chat_template": "{{ x }}"}' > hf/tokenizer_config.json
build/gyre import --from hf hf --output imported --overwrite 2> import.log
same "an imported tokenizer without" "$(text the imported)" "$without_bos"
same "with it nevertheless" "$(text the imported --bos)" "$with_bos"
same "an empty prompt begins with BOS" "$(text '' imported)" "$(text '' lm/)"
same "perplexity with BOS" "$(perplexity imported --max-length 32 --bos)" "$(perplexity lm/)"
same "and without" "$(perplexity imported --max-length 32)" "$(perplexity lm/ --no-bos)"
[ "$(perplexity lm/ --no-bos)" != "$(perplexity lm/)" ] || fail "perplexity counts the tokens that it predicts"
# Every command that encodes a text for a causal model has the choice.
for command in generate "evaluate perplexity" "evaluate extrapolation" "inspect receptive-field" "plot attention"; do
  check "--no-bos of gyre $command" contains '--no-bos' < <(build/gyre $command --help-all)
done
extrapolation() { build/gyre evaluate extrapolation --json --input val.txt --lengths 8 --trained-length 8 --protocol "$1" --model "${@:2}" 2> report.txt | sed 's/.*"rows"//; s/"seconds":[^,}]*//g'; }
field() { build/gyre inspect receptive-field --json --input val.txt --length 8 --samples 2 --output field.svg --data "$1" --model "${@:2}" > field.json 2> report.txt; cat "$1"; }
attention() { build/gyre plot attention --text 'the' --output attention.svg --data attention.json --model "$@" 2> report.txt && grep -o '"keys":[^]]*' attention.json; }
if command -v gnuplot > gnuplot.txt; then
  for command in "extrapolation cut" "extrapolation full" "extrapolation sliding" "field field.json" attention; do
    [ "$($command lm/ --no-bos)" != "$($command lm/)" ] || fail "$command: --no-bos changes nothing"
    same "$command with BOS by default" "$($command lm/)" "$($command lm/ --bos)"
  done
  same "the tokens of a text with BOS" "$(attention lm/ --bos | grep -o '<|endoftext|>')" '<|endoftext|>'
fi
rejects 2 '--no-bos would have no effect: there is no --input' \
  build/gyre inspect receptive-field --model lm/ --no-bos --output field.svg
scored() { perplexity lm/ --max-length "$1" | grep -o '"tokens":[0-9]*'; }
for length in 1 5 8; do same "the scored tokens in windows of $length" "$(scored $length)" "$(scored 32)"; done
build/gyre export --to hf --model imported --output kept 2> export.log
check "an export keeps the settings of a tokenizer" contains '"bos_token": null' < kept/tokenizer_config.json
check "and the chat template" contains '"chat_template": "\{\{ x \}\}"' < kept/tokenizer_config.json
sed -i 's/"add_bos_token": .*//; s/^{/{"add_bos_token": true, /; s/"bos_token": null/"bos_token": "<|endoftext|>"/' hf/tokenizer_config.json
build/gyre import --from hf hf --output imported --overwrite 2> import.log
same "add_bos_token" "$(text the imported)" "$with_bos"
