#!/usr/bin/env bash
# Every failure ends with a single error line and the right exit status, and leaves no incomplete file.
. "$(dirname "$0")/lib.sh"
small_corpus
small_train --model run --after 6u --save-freq 3u --quiet

# Names from files reach standard error through print_message, which makes them printable, and JSON is read strictly.
sources() { grep -rnE "$1" --include='*.cpp' --include='*.h' "$ROOT"/{core,autograd,models,data,train,tools} | grep -vE "$2" || true; }
same "messages that are not made printable" "$(sources 'std::(cerr|clog)|f(printf|puts)\(.*stderr.*(%[.*0-9]*s|c_str)' \
  'tools/(messages|lessons/main|examples/.*)\.cpp|app\.help\(\)|"%s: %llu tokens in|"%-16s %12llu|printable_message')" ""
same "JSON that is not read strictly" "$(sources '[jJ]son::parse\(' 'core/io/json\.cpp|tools/examples/')" ""

# Malformed calls are in bad_calls.txt. These commands also report the limits of the machine, and the error last.
rejects 2 '--precision. tf32 needs a GPU' "$GYRE" bench step --precision tf32
rejects 2 '--model and --input must be given together' "$GYRE" bench decode --model run
rejects 1 'missing.en' "$GYRE" bench step --preset multi30k-tiny --text missing --steps 1
# Options that other programs have exist here under the names that the hints give. A call has all those of a task.
cat > names.txt << 'EOF'
lm --seq-length --max-length
lm --n_layer --layers
lm --num-query-groups --kv-heads
lm --rotary-base --rope-base
lm --init-method-std --initial-deviation
lm --global-batch-size --mini-batch
lm --lr-decay-style --lr-schedule
lm --eval_iters --valid-samples
lm --val-split-fraction --valid-share
lm --checkpoint_dir --pretrained-model
lm --max-position-embeddings --max-positions
lm --training.steps --after
mlm --mlm-probability --mask-share
nmt --d-model --dim-emb
nmt --dim-feedforward --transformer-dim-ffn
nmt --num-heads --transformer-heads
classify --max-seq-length --max-length
classify --per-device-train-batch-size --mini-batch
match --num-train-epochs --after-epochs
EOF
for task in nmt mlm lm classify match; do
  "$GYRE" train $task --help-all > help.txt
  rejects 2 'unknown options: --foo; ' "$GYRE" train $task --foo $(sed -n "s/^$task \([^ ]*\) .*/\1/p" names.txt)
  while read -r _ option hint; do
    check "$task: $option is $hint" grep -qF -- "$option (did you mean $hint?)" stderr.txt
    grep -qE -- "(^| |,)$hint( |,|$)" help.txt || fail "gyre train $task has no $hint"
  done < <(grep "^$task " names.txt)
done

# File errors: status 1, the line names the file, and there is no file with the final name.
mkdir cased && echo '{"do_lower_case": false}' > cased/tokenizer_config.json
rejects 1 'cased/new.model: tokenizer_config.json in its folder says cased, got --lower-case' "$GYRE" vocab --type wordpiece --input train.en --output cased/new.model
cp train.de latin.de
printf 'gr\374n\n' >> latin.de
cp train.en plus.en
echo green >> plus.en
rejects 1 'latin.de:401' "$GYRE" data build --vocab vocab.model --source plus.en --target latin.de --output new.tok
rejects 2 'starts mpirun itself' env PMI_RANK=0 "$GYRE" bench ranks
rejects 2 'one core only' taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+' | sed -n 2p)" "$GYRE" bench ranks
rejects 1 'latin.de:401: not UTF-8' "$GYRE" translate --model run --input latin.de --output new.de --on-bad-line error
for name in new.model cased/new.model tokenizer_config.json new.tok new.de; do
  [ ! -e "$name" ] || fail "$name was left behind"
done

# Hugging Face models and sequences of ids.
theirs=$ROOT/tests/train/golden/hugging_face/bert
cp -r "$theirs" gpt
sed -i 's/BertForMaskedLM/GPTJForCausalLM/' gpt/config.json
rejects 1 'gpt/config.json: architectures: expected one of BertForMaskedLM, .*got \["GPTJForCausalLM"\]' "$GYRE" import --from hf gpt --output new
rejects 2 "--from: .*hf.*got 'onnx'" "$GYRE" import --from onnx gpt --output new
"$GYRE" import --from hf "$theirs" --output imported
rejects 1 'imported. holds a model already \(config.json\): use --overwrite' "$GYRE" import --from hf "$theirs" --output imported
forward() { "$GYRE" forward --model imported --ids ids.txt --output new "$@"; }
printf '2 5 3\n2 20 3\n' > ids.txt
rejects 1 "ids.txt:2: expected whole numbers from 0 to 19, got '20'" forward
printf '2 5 3\n\n' > ids.txt
rejects 1 'ids.txt:2: expected at least one id, got none' forward
printf '2 5 3\n2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 3\n' > ids.txt
rejects 1 'ids.txt:2: expected at most 16 ids, got 17' forward
printf '2 5 3\n2 3\n' > ids.txt
printf '0 0 1\n0\n' > types.txt
rejects 1 'types.txt:2: expected 2 token types as there are ids, got 1' forward --token-types types.txt
cp -r "$theirs" huge
weights=huge/model.safetensors
begin=$((8 + $(od -An -tu8 -N8 $weights)))
{ head -c $begin $weights; tail -c +$((begin + 1)) $weights | tr '\0-\377' '\177'; } > huge/new && mv huge/new $weights # all 3e38
"$GYRE" import --from hf huge --output overflowing
rejects 1 'ids.txt:1: the outputs of the model are not finite numbers' forward --model overflowing
[ ! -e new ] || fail "new was left behind"

# A vocabulary that does not fit.
"$GYRE" vocab --input train.en train.de --type bpe --size 280 --output other.model 2> vocab.log
"$GYRE" data build --vocab other.model --source train.en --target train.de --output other.tok 2> build.log
rejects 1 'other.model does not fit the model: expected 300 pieces.*got 280' "$GYRE" translate --model run --vocab other.model
sets=other.tok rejects 1 'other.tok' small_train --model fresh --after 1u
cp run/vocab.model run-vocab.model
rejects 1 'vocabulary' small_train --model run --after 9u --vocab other.model
check "a rejected call leaves the run as it was" cmp run/vocab.model run-vocab.model

# Damaged checkpoints.
cp -r run cut
file=cut/checkpoints/step-00000006/model.safetensors
truncate -s -100 "$file"
rejects 1 'model.safetensors' "$GYRE" checkpoint verify --model cut --checkpoint last
rejects 1 'model.safetensors' "$GYRE" translate --model cut --checkpoint last
small_train --model cut --after 9u 2> resumed.log || { cat resumed.log >&2; fail "training past a broken checkpoint"; }
check "training resumes from the last complete checkpoint" grep -q 'step-00000006' resumed.log

# Several ranks: all ranks exit, and the first error is the last line.
rejects 1 'rank [01] of 2.*missing.en' "$ROOT/tools/scripts/mpirun.sh" -n 2 "$GYRE" train nmt --train-sets missing.en train.de \
  --vocab vocab.model --model fresh --after 1u
