#!/usr/bin/env bash
# Tests fine-tuning on answers from outside: train lm --format completion and chat, the chat template of the run and of
# its export, and gyre generate --chat with files, pipes and a terminal.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
generate() { build/gyre generate "$@" 2> report.txt; }

# German sentences are the answers to English ones. Two turns in every third conversation.
from_corpus {train,val}.{en,de}
samples() { # samples FORMAT NAME
  paste "$2.en" "$2.de" | tr -d '"\\' | awk -F '\t' -v format="$1" '
    function turn(question, answer) {
      return sprintf("{\"role\": \"user\", \"content\": \"%s\"}, {\"role\": \"assistant\", \"content\": \"%s\"}", question, answer)
    }
    format == "completion" { printf "{\"prompt\": \"%s =\", \"completion\": \" %s\"}\n", $1, $2; next }
    NR % 3 == 1 { first = turn($1, $2) ", "; next }
    { printf "{\"messages\": [%s%s]}\n", first, turn($1, $2); first = "" }'
}
for set in train val; do
  samples chat $set > $set.jsonl
  samples completion $set > $set.completion.jsonl
done
mv val.jsonl valid.jsonl
cat train.en train.de > both.txt
build/gyre vocab --input both.txt --type byte-bpe --size 400 --output vocab.json 2> vocab.log
small="--dim-emb 48 --transformer-heads 6 --layers 2 --transformer-dim-ffn 48 --mini-batch 8"
build/gyre train lm --preset llama-tiny $small --documents line --train-sets both.txt --vocab vocab.json --max-length 64 \
  --after 60u --learn-rate 0.003 --lr-warmup 10% --quiet --model base/
check "a run of documents has no template" test ! -e base/chat_template.jinja

# Chat.
sft="--pretrained-model base/ --mini-batch 8 --max-length 200 --learn-rate 0.003 --lr-warmup 4 --valid-sets valid.jsonl --valid-freq 20u --save-freq 20u"
rejects 2 '^gyre: .--format. chat expects a chat template, and neither the vocabulary nor' \
  build/gyre train lm $sft --format chat --train-sets train.jsonl --after 1u --model chat/
build/gyre train lm $sft --format chat --chat-template zephyr --train-sets train.jsonl --after 40u --model chat/ > train.log 2>&1
contains 'train.jsonl: [0-9]+ samples' < train.log || fail "the number of samples: $(cat train.log)"
check "the run has its template" contains '<\|assistant\|>' < chat/chat_template.jinja
loss() { sed -n 's/.*"cross-entropy":\([0-9.]*\).*/\1/p' chat/metrics.jsonl | sed -n "$1"; }
check "the loss of the answers falls" awk -v first="$(loss 1p)" -v last="$(loss '$p')" 'BEGIN { exit !(last < first) }'
check "validation samples show the prompt and the answer" contains '<\|assistant\|>' < chat/metrics.jsonl

# A run that continues has the same bits as one that was not interrupted, and does not need the template's file.
cp chat/chat_template.jinja copy.jinja
build/gyre train lm $sft --format chat --chat-template copy.jinja --train-sets train.jsonl --after 20u --quiet --model halves/
rm copy.jinja
build/gyre train lm --model halves/ --after 40u --quiet
check "a run that continues" cmp chat/checkpoints/last/model.safetensors halves/checkpoints/last/model.safetensors
rejects 1 'belongs to a run with other options .training data' build/gyre train lm --model halves/ --after 41u --chat-template chatml

# Answers: from a prompt, from JSON lines, in batches.
greedy="--model chat/ --chat --temperature 0 --max-tokens 30"
question='She sees two dogs .'
generate $greedy --prompt "$question" > one.txt
same "an answer without the prompt" "$(wc -l < one.txt)" 1
if contains '<\||She sees' < one.txt; then fail "the answer has the prompt: $(cat one.txt)"; fi
printf '{"messages": [{"role": "user", "content": "%s"}]}\n' "$question" 'A man .' > questions.jsonl
generate $greedy < questions.jsonl > answers.txt
same "a line for each conversation" "$(wc -l < answers.txt)" 2
same "from a prompt and from JSON lines" "$(sed -n 1p answers.txt)" "$(cat one.txt)"
if contains JSON < report.txt; then fail "JSON is expected: $(cat report.txt)"; fi
check "batches of 1" cmp answers.txt <(generate $greedy --mini-batch 1 < questions.jsonl)
generate $greedy --json < questions.jsonl > answers.jsonl
check "answers as JSON" contains "^.\"messages\":\[.\"role\":\"user\",\"content\":\"A man .\".\],\"text\":\".*\",\"end\":\"(eos|length)\",\"ids\":" < <(sed -n 2p answers.jsonl)
check "a message of the system" contains '"messages":\[."role":"system","content":"Be brief."' < \
  <(generate $greedy --system 'Be brief.' --json --prompt "$question")
echo 'What is this?' | generate $greedy > bad.txt
same "a line that is no conversation" "$(cat bad.txt)" ""
contains 'standard input: 0 .*skipped 1' < report.txt || fail "a skipped line: $(cat report.txt)"
rejects 1 'both.txt:1: ' build/gyre generate $greedy --on-bad-line error --input both.txt
rejects 1 "^gyre: .--chat. base/*: expected a model with a chat template" build/gyre generate --model base/ --chat --prompt a
rejects 2 '--no-echo would have no effect: --chat' build/gyre generate $greedy --no-echo --prompt a
rejects 2 '--no-bos would have no effect: --chat' build/gyre generate $greedy --no-bos --prompt a
rejects 2 '--system would have no effect: there is no --chat' build/gyre generate --model chat/ --system a --prompt a

# On a terminal: an answer to each line, until Ctrl-D.
if command -v script > /dev/null; then
  mkfifo keys
  script -qefc "\"$GYRE\" generate $greedy" terminal.txt < keys > /dev/null &
  exec 3> keys
  prompts() { grep -o '> ' terminal.txt | wc -l; }
  for turn in 1 2; do
    echo "$question" >&3
    for _ in $(seq 1200); do [ "$(prompts)" -gt $turn ] && break; sleep 0.05; done
    check "turn $turn" test "$(prompts)" -gt $turn
    [ $turn = 2 ] || check "the first answer" grep -qF -- "$(cat one.txt)" terminal.txt
  done
  exec 3>&-
  wait $!
  check "the end" contains '^continuations: ' < terminal.txt
else
  skipped "a terminal" "there is no script(1)"
fi

# The template travels with an export, and is read from there.
build/gyre export --to hf --model chat/ --output chat-hf/ 2> export.log
check "the template of the export" cmp chat/chat_template.jinja chat-hf/chat_template.jinja
build/gyre import --from hf chat-hf/ --output again/ 2> import.log
same "a model that was exported and imported" "$(generate --model again/ --chat --temperature 0 --max-tokens 30 --prompt "$question")" \
  "$(cat one.txt)"
build/gyre train lm --pretrained-model again/ --format chat --train-sets train.jsonl --after 1u --quiet --model more/
check "the template of a vocabulary" cmp chat/chat_template.jinja more/chat_template.jinja

# Completions.
build/gyre train lm --pretrained-model base/ --format completion --train-sets train.completion.jsonl --mini-batch 8 \
  --valid-share 0.1 --learn-rate 0.003 --after 20u --quiet --model completions/
generate --model completions/ --temperature 0 --max-tokens 20 --prompt "$question =" > completion.txt
contains "^$question = ?." < completion.txt || fail "a completion: $(cat completion.txt)"
build/gyre inspect batches --model completions/ --updates 1 --output batches.safetensors > batches.txt
contains '8 samples, [0-9]+ tokens, [0-9]+ predictions' < batches.txt || fail "batches: $(cat batches.txt)"
read -r tokens predictions < <(sed -E 's/.* ([0-9]+) tokens, ([0-9]+) predictions.*/\1 \2/' batches.txt)
check "only answers are predicted" test "$predictions" -lt "$tokens"

# The commands of the page.
sed -n 's/^    \(build\/gyre.*\)/\1/p; s/^      \(--.*\)/\1/p' "$ROOT/tools/docs/fine_tuning.md" |
  sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' | grep -v '^build/gyre import\|--chat$' > page.sh
rm -rf chat chat-hf
sed -i 's/--after 2e/--after 2u/; s/--max-length 512/--max-length 200/; s/--valid-freq 1e --save-freq 1e/--valid-freq 1u --save-freq 1u/' page.sh
sed -i 's/--learn-rate 2e-5/--learn-rate 2e-5 --quiet/; s/--chat-template chatml/--chat-template zephyr/' page.sh
sed -i 's/--learn-rate 2e-4/--learn-rate 2e-4 --quiet/' page.sh
same "the page has commands" "$(wc -l < page.sh)" 7
check "the commands of the page" bash -e page.sh
build/gyre import --from peft lora-peft/ --base-model base/ --output lora-again/ 2> report.txt
for run in lora lora-again merged; do generate --model $run/ --temperature 0 --max-tokens 20 --prompt "$question" > $run.txt; done
same "imported adapters" "$(cat lora-again.txt)" "$(cat lora.txt)"
same "merged adapters" "$(cat merged.txt)" "$(cat lora.txt)"

# A run of adapters: what would be silent damage is an error.
rejects 2 'another run than --output' build/gyre import --from peft lora-peft/ --base-model base/ --output base/ --overwrite
for run in lora base; do
  rejects 2 'another run than those of the adapters and of their base' \
    build/gyre checkpoint merge --model lora/ --output $run/ --overwrite
done
rejects 1 'holds a run of Gyre' build/gyre export --to peft --model lora/ --output base/
# transformers would add adapters to a whole model beside them, and look for adapters that are gone.
build/gyre export --to hf --model lora/ --output exported/
rejects 1 'holds a model already' build/gyre export --to peft --model lora/ --output exported/
build/gyre export --to peft --model lora/ --output exported/ --overwrite
same "adapters in place of a model" "$(cd exported && echo *)" "adapter_config.json adapter_model.safetensors chat_template.jinja"
build/gyre export --to hf --model lora/ --output exported/ --overwrite
same "a model in place of adapters" "$(cd exported && ls | grep -c adapter || true)" 0
rejects 2 '^gyre: .--lora-targets. expected out_proj, fc1, fc2 or lm_head.dense instead of an ambiguous name, got dense' \
  build/gyre train lm --pretrained-model base/ --train-sets both.txt --documents line --lora-rank 2 --lora-targets dense --after 1u --model dense/
build/gyre train lm --pretrained-model lora/ --format chat --train-sets train.jsonl --max-length 200 --mini-batch 8 \
  --after 2u --lora-rank 2 --quiet --model second/
rejects 1 'expected adapters of a whole model, but their base .* has adapters too' build/gyre export --to peft --model second/ --output second-peft/
build/gyre train lm --pretrained-model base/ --format chat --train-sets train.jsonl --max-length 200 --mini-batch 8 \
  --after 2u --lora-rank 2 --chat-template chatml --rope-scaling linear --rope-scaling-factor 2 --quiet --model longer/ 2> longer.txt
check "a changed base is said" grep -q 'of another architecture: position/rope_scaling "none" -> "linear"' longer.txt
rejects 1 'expected a whole model for another architecture, found adapters' \
  build/gyre train lm --pretrained-model lora/ --layers 3 --train-sets both.txt --documents line --after 1u --model bad/
build/gyre export --to peft --model longer/ --output longer-peft/ 2> longer.txt
check "what PEFT's files cannot say is said" grep -q 'files cannot say .*position/rope_scaling "none" -> "linear"' longer.txt
rejects 1 'expected adapters of the same base and scale' build/gyre checkpoint average --model lora/ --checkpoints last second/checkpoints/last
check "the template goes along with the adapters" cmp lora/chat_template.jinja lora-peft/chat_template.jinja
check "and comes back" cmp lora/chat_template.jinja lora-again/chat_template.jinja
same "a merged run says so" "$(build/gyre checkpoint info --model merged/ --json | grep -c '"merged"')" 1
cp -r lora broken
printf '\377' | dd of="$(realpath broken/checkpoints/last)/model.safetensors" bs=1 seek=2000 conv=notrunc 2> /dev/null
rejects 1 'checksum|CRC' build/gyre export --to peft --model broken/ --output broken-peft/
