#!/usr/bin/env bash
# Tests gyre export --to gguf from outside: the types, what is in the file, and what is refused before anything is
# written. tests/train/pretrained/gguf_test.cpp reads such files back.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
from_corpus train.{en,de}
cat train.en train.de > text
small="--dim-emb 64 --transformer-heads 4 --layers 1 --transformer-dim-ffn 64 --mini-batch 8 --cpu-threads 1 --quiet
  --documents line --train-sets text --max-length 48 --after 2u"
train() { build/gyre train lm $small --model "$@"; }
write() { build/gyre export --to gguf --model "$@" 2> export.log; }
has() { grep -aqF -- "$1" "$2"; }

build/gyre vocab --input text --type byte-bpe --size 400 --output vocab.json 2> vocab.log
train llama/ --preset llama-tiny --vocab vocab.json
for type in f32 f16 bf16 q8_0; do
  write llama/ --outtype $type --output $type.gguf --license mit --language en
  same "what was exported as $type" "$(sed 's/of [0-9]* parameters in [0-9]* tensors/of N/' export.log)" \
    "model: llama/checkpoints/step-00000002 (last)
made $type.gguf: llama of N, $type, a vocabulary of 400 pieces"
done
check "the default is f16" write llama/ --output default.gguf
check "its name is that of the run" has general.name default.gguf
write llama/ --output again.gguf --license mit --language en
check "an export is the same again" cmp f16.gguf again.gguf
bytes() { wc -c < "$1"; }
check "f16 and bf16 have two bytes a weight" test "$(bytes f16.gguf)" -eq "$(bytes bf16.gguf)"
check "the types differ in size" test "$(bytes q8_0.gguf)" -lt "$(bytes f16.gguf)" -a "$(bytes f16.gguf)" -lt "$(bytes f32.gguf)"
for word in GGUF llama.context_length llama.rope.freq_base general.license tokenizer.ggml.merges tokenizer.ggml.add_bos_token gpt-2 \
  blk.0.attn_q.weight blk.0.ffn_gate.weight output_norm.weight; do
  check "the file has $word" has "$word" f16.gguf
done

rejects 1 'f16.gguf already exists: use --overwrite' build/gyre export --to gguf --model llama/ --output f16.gguf
write llama/ --outtype q8_0 --output f16.gguf --overwrite --license mit --language en
check "--overwrite replaces the file" cmp f16.gguf q8_0.gguf
rejects 2 '--outtype would have no effect: --to is hf' build/gyre export --to hf --outtype f32 --model llama/ --output hf

# A conversation's template and the token that ends an answer.
samples() {
  paste "train.en" "train.de" | tr -d '"\\' | awk -F '\t' '{ printf "{\"prompt\": \"%s\", \"completion\": \"%s\"}\n", $1, $2 }'
}
samples | sed 's/{"prompt": \(".*"\), "completion": \(".*"\)}/{"messages": [{"role": "user", "content": \1}, {"role": "assistant", "content": \2}]}/' > chat.jsonl
build/gyre train lm --pretrained-model llama/ --format chat --chat-template chatml --train-sets chat.jsonl --mini-batch 4 \
  --max-length 200 --after 1u --cpu-threads 1 --quiet --model chat/
write chat/ --output chat.gguf
check "the chat template is in the file" has "tokenizer.chat_template" chat.gguf
check "and is that of the run" has "<|im_start|>" chat.gguf

# The token that ends an answer of a run's template comes before the ends of generation_config.json, such as those of the
# base of adapters.
build/gyre vocab --input text --type byte-bpe --size 300 --user-symbols '<|im_start|>' '<|im_end|>' --output marks.json 2> vocab.log
train ends/ --preset llama-tiny --vocab marks.json
cp chat/chat_template.jinja ends/
ends_of() { tr -d ' \n' < "$1/generation_config.json" | sed -nE 's/.*"eos_token_id":(\[?[0-9,]+\]?).*/\1/p'; }
build/gyre export --to hf --model ends/ --output ends-hf 2> export.log
check "the ends of an answer and of a text" contains '^\[[0-9]+,[0-9]+\]$' < <(ends_of ends-hf)
printf '{"eos_token_id": %s}' "$(ends_of ends-hf | sed -E 's/.*,([0-9]+)\]/\1/')" > ends/generation_config.json
build/gyre export --to hf --model ends/ --output again-hf 2> export.log
same "also with a generation_config.json" "$(ends_of again-hf)" "$(ends_of ends-hf)"
write ends/ --output ends.gguf
check "and in a GGUF file" has tokenizer.ggml.eot_token_id ends.gguf

# SentencePiece, with the texts whose ids differ in llama.cpp.
build/gyre vocab --input text --type unigram --size 300 --output unigram.model 2> vocab.log
build/gyre vocab --input text --type bpe --size 300 --output bpe.model 2> vocab.log
train unigram/ --preset llama-tiny --vocab unigram.model
write unigram/ --output unigram.gguf
check "unigram has its rules" has tokenizer.ggml.precompiled_charsmap unigram.gguf
same "no remark on unigram" "$(wc -l < export.log)" 2
train neox/ --preset neox-160m --vocab bpe.model
write neox/ --output neox.gguf
check "GPT-NeoX has keys of its own" has gptneox.use_parallel_residual neox.gguf
check "a remark on characters without a piece" contains '^llama.cpp fails at a character without a piece' < export.log
check "a remark on normalization" contains '^llama.cpp does not normalize texts for BPE of SentencePiece' < export.log
train gpt2/ --preset gpt2-small --max-positions 48 --vocab vocab.json
write gpt2/ --output gpt2.gguf
check "GPT-2 has its table of positions" has position_embd.weight gpt2.gguf

# What llama.cpp does not have.
train alibi/ --preset llama-tiny --position alibi --vocab vocab.json
rejects 1 '^gyre: .gguf. llama.cpp has no such model: position: expected rope, or learned for a GPT-2, got alibi$' \
  build/gyre export --to gguf --model alibi/ --output new.gguf
build/gyre vocab --type bytes --output bytes.model 2> vocab.log
train bytes/ --preset llama-tiny --vocab bytes.model
rejects 1 '^gyre: .gguf. llama.cpp has no such vocabulary: kind: expected byte-level BPE, or unigram or BPE of SentencePiece, got bytes$' \
  build/gyre export --to gguf --model bytes/ --output new.gguf
build/gyre import --from hf "$ROOT/tests/train/golden/hugging_face/bert" --output bert/ 2> import.log
rejects 1 'expected a decoder, which llama.cpp can run, got an encoder' build/gyre export --to gguf --model bert/ --output new.gguf
build/gyre import --from hf "$ROOT/tests/train/golden/decoders/llama" --output bare/ 2> import.log
rejects 1 'bare/*: expected a model with a vocabulary, found none' build/gyre export --to gguf --model bare/ --output new.gguf
mkdir folder
rejects 1 'folder' build/gyre export --to gguf --model llama/ --output folder --overwrite
check "no file of a refused export" test ! -e new.gguf
