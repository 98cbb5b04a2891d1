#!/usr/bin/env bash
# Runs the malformed calls of bad_calls.txt. Each must end within a minute with its status and one line on stderr,
# and must not write, replace or remove any file. A line of bad_calls.txt is
#   STATUS <tab> PATTERN of the error line <tab> COMMAND of gyre as shell words; $nmt and others are set below
. "$(dirname "$0")/lib.sh"
table=$ROOT/tests/tools/bad_calls.txt

# Input files of the calls.
small_corpus 2> corpus.log
head -n 3 test.en > input
head -n 5 train.en > short.en
: > empty
printf '\n\n\n' > blank
printf 'gr\374n\n' > latin
head -c 20000 "$GYRE" > binary
printf '{' > broken.json
mkdir folder foreign hf
echo mine > foreign/thesis.txt
cp "$ROOT"/tests/train/golden/hugging_face/bert/* hf/
from_corpus train.tok
head -c 1000 train.tok > cut.tok
small_train --model run --after 2u --save-freq 1u --quiet
for copy in cut state config other foreigner nested; do cp -r run "$copy"; done
truncate -s -100 cut/checkpoints/*/model.safetensors
for file in state/checkpoints/step-*/state.json; do echo '[]' > "$file"; done
printf '{' > config/config.json
sed -i 's/"ffn": 32/"ffn": 9223372036854775807/' other/config.json
echo mine > foreigner/checkpoints/precious.bin
printf '%0.s[' $(seq 100000) > nested/config.json
cp -r run $'caf\351'
truncate -s -100 $'caf\351'/checkpoints/step-00000001/model.safetensors
printf 'seed = 1\nlern-rate = 1\n' > typo.toml
printf '[table]\nseed = 1\n' > table.toml
printf 'seed = \n' > novalue.toml
printf 'lr = -1\n' > alias.toml
printf 'seed = 1\n\nlr = 1\nseed = 2\n' > twice.toml
printf '{%% if %%}' > broken.jinja
printf '\033[31m\001\374 = 1\n' > binary.toml
printf 'fp16 = true\n' > hf.toml
printf 'n_layer = 2\nwandb-log = true\n' > gpt.toml
ln -s loop loop
printf '2 5 3\n2 99999 3\n' > ids
printf '\005\000\054\001' > large.bin # the ids 5 and 300
printf 'abc' > odd.bin
: > empty.bin

model="train nmt --vocab vocab.model --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1
  --dec-depth 1 --mini-batch-words 400 --cpu-threads 1 --quiet --model new --after 1u"
nmt="$model --train-sets train.en train.de"
validation="--valid-sets val.en val.de --valid-metrics bleu --valid-freq 1u"
lm="train lm --documents line --vocab vocab.model --cpu-threads 1 --quiet --model new --after 1u"
sft="train lm --vocab vocab.model --cpu-threads 1 --quiet --model new --after 1u --train-sets train.en"
translate="translate --model run --input input --cpu-threads 1 --quiet"
score="score --model run --cpu-threads 1 --quiet"

# Lists all names, the targets of links, and the size, the inode and the time of the last change of all files except the
# lock and the log of a run.
listing() {
  find . -path ./.calls -prune -o -type f ! -name .lock ! -name train.log -printf '%p %s %i %C@\n' -o -printf '%p %y %l\n' | sort
}
mkdir .calls
listing > .calls/before
calls=0 wrong=0
complain() {
  wrong=$((wrong + 1))
  echo "WRONG: $command: $*" >&2
  head -n 5 .calls/stderr | cut -c 1-300 >&2
}
while IFS=$'\t' read -r status pattern command; do
  case $status in '' | '#'*) continue ;; esac
  calls=$((calls + 1)) got=0
  eval "call=($command)"
  timeout 60 "$GYRE" "${call[@]}" > .calls/stdout 2> .calls/stderr < /dev/null || got=$?
  sed -i '/^==[0-9]*==WARNING: AddressSanitizer failed to allocate/d' .calls/stderr
  [ "$got" -eq "$status" ] || complain "status $got instead of $status"
  [ "$(wc -l < .calls/stderr)" -eq 1 ] || complain "$(wc -l < .calls/stderr) lines instead of one"
  grep -qE -- "$pattern" .calls/stderr || complain "no line like /$pattern/"
  ! grep -qE 'bad_alloc|json\.exception|terminate|vector::|basic_string' .calls/stderr || complain "the message comes from a library"
  listing > .calls/after
  if ! diff .calls/before .calls/after > .calls/changes; then
    complain "files changed: $(grep '^[<>]' .calls/changes | head -n 3 | tr '\n' ' ')"
    cp .calls/after .calls/before
  fi
done < "$table"
[ "$calls" -ge 400 ] || fail "expected at least 400 calls in bad_calls.txt, got $calls"
[ "$wrong" -eq 0 ] || fail "$wrong problems in $calls calls"
echo "ok: $calls calls, one line each, nothing changed"
