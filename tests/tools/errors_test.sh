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

# Usage errors: status 2, one line.
rejects 2 'unknown option --lern-rate; did you mean --learn-rate\?' small_train --model bad --lern-rate 1
same "one line" "$lines" 1
rejects 2 'unknown option --beem-size; did you mean --beam-size\?' "$GYRE" translate --model run --beem-size=3
rejects 2 'unknown subcommand trian; did you mean train\?' "$GYRE" trian nmt
rejects 2 'unknown subcommand blue; did you mean bleu\?' "$GYRE" evaluate blue --reference test.de
rejects 2 'unexpected argument .extra' "$GYRE" checkpoint average --model run extra
rejects 2 '--model is missing' "$GYRE" translate
rejects 2 '--seed: expected a non-negative integer' small_train --model bad --seed ten
rejects 2 '--position: expected one of .*did you mean rope\?' small_train --model bad --position rop
rejects 2 'rotary dims must be even|rotary.*even' small_train --model bad --after 1u --rotary-dims 7
rejects 2 '--rope-base would have no effect' small_train --model bad --after 1u --position none --rope-base 5
rejects 2 '--patience would have no effect' small_train --model bad --patience 3
rejects 2 "--after: .*got '3x'" small_train --model bad --after 3x
# Messages have the name that was given, whatever the first name of the option is.
rejects 2 '^gyre: .--lr. ' small_train --model bad --after 1u --lr -1
rejects 2 '^gyre: --lr: expected' small_train --model bad --after 1u --lr x
printf 'lr = -1\n' > alias.toml
rejects 2 '^gyre: .--lr. ' small_train --model bad --after 1u --config alias.toml
rejects 2 '^gyre: .--gpus. expected' "$GYRE" plan lm --gpus 0
rejects 2 '--source: expected one file without --documents' "$GYRE" data build --vocab vocab.model --source train.en train.de --output bad.tok
rejects 2 '--documents: expected no --target' \
  "$GYRE" data build --vocab vocab.model --source train.en --target train.de --documents line --output bad.tok
rejects 2 '--max-length would have no effect' \
  "$GYRE" data build --vocab vocab.model --source train.en --documents line --max-length 9 --output bad.tok
printf 'seed = 1\nlern-rate = 1\n' > wrong.toml
rejects 2 '^gyre: wrong.toml:2: unknown option lern-rate; did you mean learn-rate\?$' small_train --model bad --config wrong.toml
printf 'seed = 1\n[model]\ndim-emb = 8\n' > table.toml
rejects 2 '^gyre: table.toml:2: expected `name = value` lines or an array of tables such as \[\[stage\]\], got the table \[model\]$' small_train --model bad --config table.toml
printf 'seed = 1\n\nlr = 1\nseed = 2\n' > twice.toml
rejects 2 '^gyre: twice.toml:4: seed is given twice, first in line 1$' small_train --model bad --config twice.toml
printf '\033[31m\001\374 = 1\n' > binary.toml
rejects 2 '^gyre: binary.toml:1: .*\\x1b\[31m\\x01\\xfc' small_train --model bad --config binary.toml
rejects 2 'none.toml: no such configuration file' small_train --model bad --config none.toml
rejects 2 '--precision: expected one of fp32, tf32, bf16, auto' "$GYRE" bench step --precision bf8
rejects 2 '--precision: expected one of fp32, tf32, bf16, auto' small_train --model bad --after 1u --precision int8
rejects 2 '--precision: expected one of fp32, tf32, bf16, int8, auto' "$GYRE" translate --model run --precision int4
rejects 2 '--precision. tf32 needs a GPU' "$GYRE" bench step --precision tf32
rejects 2 "--device. expected cpu, cuda or cuda:N, got 'gpu'" "$GYRE" bench gemm --device gpu
rejects 2 "--device. expected cpu, cuda or cuda:N, got 'cuda:x'" small_train --model bad --after 1u --device cuda:x
rejects 2 'cuda' "$GYRE" gradcheck --device cuda:999
rejects 2 'cuda' small_train --model bad --after 1u --device cuda:999
rejects 2 '--preset: expected one of .*did you mean nmt-base' "$GYRE" bench step --preset nmt-bas
rejects 2 '--text would have no effect: --preset is mlm-small' "$GYRE" bench step --preset mlm-small --text train
rejects 2 '--model and --input must be given together' "$GYRE" bench decode --model run
rejects 2 '--steps\] expected at least 1, got 0' "$GYRE" bench ops --steps 0
rejects 2 '--type wordpiece: expected either --input .* or --dictionary' "$GYRE" vocab --type wordpiece --output new.model
rejects 2 '--type wordpiece: expected either --input' "$GYRE" vocab --type wordpiece --input train.en --dictionary v --output new.model
rejects 2 '--size would have no effect: --dictionary is trained already' "$GYRE" vocab --type wordpiece --dictionary v --size 9 --output new.model
rejects 2 '--character-coverage would have no effect: --type is wordpiece' "$GYRE" vocab --type wordpiece --input train.en --character-coverage 1 --output new.model
rejects 2 '--min-frequency would have no effect: --type is bpe' "$GYRE" vocab --type bpe --input train.en --min-frequency 3 --output new.model
rejects 2 '^gyre: --train-sets, --vocab and --model are missing$' "$GYRE" train nmt
rejects 2 '^gyre: --train-sets and --vocab are missing; bad/train.toml does not exist, so there is no run to resume$' "$GYRE" train nmt --model bad
rejects 2 '^gyre: --vocab is missing' "$GYRE" train nmt --model run --train-sets train.en train.de
rejects 2 '^gyre: --train-sets is missing: .*; without --vocab, the options of the run are read from run/train.toml$' \
  "$GYRE" train nmt --model run --vocab vocab.model
rejects 2 'unknown subcommand lm; did you mean train lm\?' "$GYRE" lm --help
rejects 2 'unknown subcommand sample; did you mean generate\?' "$GYRE" sample --help
rejects 2 'unknown subcommand pretrain; did you mean train lm or train mlm\?' "$GYRE" pretrain
rejects 2 'unknown subcommand finetune: gyre train lm --init-from' "$GYRE" finetune
rejects 2 'unknown subcommand gpt; did you mean train lm\?' "$GYRE" train gpt
rejects 2 'unknown subcommand interactive; did you mean translate\?' "$GYRE" interactive --model run
rejects 2 'unknown subcommand frobnicate; gyre help lists all commands' "$GYRE" frobnicate
rejects 2 'unknown subcommand blue; did you mean bleu\?' "$GYRE" evaluate blue --help
rejects 2 'unknown option --fp16; did you mean --precision bf16\?' small_train --model bad --fp16
rejects 2 'unknown option --num-workers: text is read without worker processes$' small_train --model bad --num-workers 4
rejects 2 'unknown option --criterion: the loss is cross-entropy' small_train --model bad --criterion x
rejects 2 'unknown option --learning_rate; did you mean --learn-rate\?' small_train --model bad --learning_rate 1
rejects 2 'unknown option --frobnicate$' small_train --model bad --frobnicate
rejects 2 '^gyre: unknown options: --dtype .did you mean --precision\?.; --compile .there is nothing to compile.*; --foo$' \
  small_train --model bad --dtype bf16 --compile --foo=-1
same "one line for several names" "$lines" 1
rejects 2 "unexpected argument 'vocab.de': source and target have one joint vocabulary" \
  "$GYRE" train nmt --train-sets train.en train.de --vocabs vocab.model vocab.de --model bad
printf 'fp16 = true\n' > hf.toml
rejects 2 'hf.toml:1: unknown option fp16; did you mean precision bf16\?$' small_train --model bad --config hf.toml
printf 'n_layer = 2\nwandb-log = true\n' > gpt.toml
rejects 2 '^gyre: gpt.toml:1: unknown options: n_layer .did you mean enc-depth\?.; wandb-log .the run directory' small_train --model bad --config gpt.toml
# Options that other programs have exist here under the names that the hints give.
for task in nmt mlm lm classify match; do "$GYRE" train $task --help-all > help-$task.txt; done
while read -r task option hint; do
  rejects 2 "unknown option $option; did you mean $hint\?$" "$GYRE" train "$task" "$option"
  grep -qE -- "(^| |,)$hint( |,|$)" help-$task.txt || fail "gyre train $task has no $hint"
done << 'EOF'
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
[ ! -e bad ] || fail "a wrong call left a run directory"

# File errors: status 1, the line names the file, and there is no file with the final name.
rejects 1 'missing.en' "$GYRE" vocab --input missing.en --size 300 --output new.model
rejects 1 'missing.en' "$GYRE" data build --vocab vocab.model --source missing.en --target train.de --output new.tok
rejects 1 'missing.en' "$GYRE" vocab --type wordpiece --input missing.en --output new.model
rejects 1 '--size: expected at least [0-9]+ pieces, .*got 9' "$GYRE" vocab --type wordpiece --input train.en --size 9 --output new.model
mkdir cased && echo '{"do_lower_case": false}' > cased/tokenizer_config.json
rejects 1 'cased/new.model: tokenizer_config.json in its folder says cased, got --lower-case' "$GYRE" vocab --type wordpiece --input train.en --output cased/new.model
head -n 399 train.de > short.de
rejects 1 'train.en.*400' "$GYRE" data build --vocab vocab.model --source train.en --target short.de --output new.tok
cp train.de latin.de
printf 'gr\374n\n' >> latin.de
cp train.en plus.en
echo green >> plus.en
rejects 1 'latin.de:401' "$GYRE" data build --vocab vocab.model --source plus.en --target latin.de --output new.tok
rejects 1 'missing.model' "$GYRE" translate --model run --vocab missing.model
rejects 1 'nowhere' "$GYRE" translate --model nowhere
ln -s loop loop
rejects 1 '^gyre: loop: Too many levels of symbolic links$' "$GYRE" translate --model loop
rejects 1 '^gyre: loop: cannot be opened: Too many levels of symbolic links$' \
  "$GYRE" data check --train-sets loop --vocab vocab.model
rejects 2 'starts mpirun itself' env PMI_RANK=0 "$GYRE" bench ranks
rejects 2 'one core only' taskset -c "$(taskset -cp $$ | grep -oE '[0-9]+' | sed -n 2p)" "$GYRE" bench ranks
rejects 1 'missing.en' "$GYRE" bench step --preset multi30k-tiny --text missing --steps 1
rejects 1 'missing.de' "$GYRE" evaluate bleu --reference missing.de
rejects 1 'lines' "$GYRE" evaluate bleu --reference short.de --input test.de
rejects 1 'latin.de:401: not UTF-8' "$GYRE" translate --model run --input latin.de --output new.de --on-bad-line error
sets='missing.en train.de' rejects 1 'missing.en' small_train --model fresh --after 1u
for name in new.model cased/new.model tokenizer_config.json new.tok new.de; do
  [ ! -e "$name" ] || fail "$name was left behind"
done

# Hugging Face models and sequences of ids.
theirs=$ROOT/tests/train/golden/hugging_face/bert
cp -r "$theirs" gpt
sed -i 's/BertForMaskedLM/GPTJForCausalLM/' gpt/config.json
rejects 1 'gpt/config.json: architectures: expected one of BertForMaskedLM, .*got \["GPTJForCausalLM"\]' "$GYRE" import --from hf gpt --output new
rejects 1 'nowhere: expected a directory with config.json' "$GYRE" import --from hf nowhere --output new
rejects 2 "--from: .*hf.*got 'onnx'" "$GYRE" import --from onnx gpt --output new
rejects 2 "--to: .*hf.*got 'onnx'" "$GYRE" export --to onnx --model run --output new
rejects 1 'run: translation models cannot be exported' "$GYRE" export --to hf --model run --output new
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

# Damaged checkpoints and stores.
cp -r run cut
file=cut/checkpoints/step-00000006/model.safetensors
truncate -s -100 "$file"
rejects 1 'model.safetensors' "$GYRE" checkpoint verify --model cut --checkpoint last
rejects 1 'model.safetensors' "$GYRE" translate --model cut --checkpoint last
small_train --model cut --after 9u 2> resumed.log || { cat resumed.log >&2; fail "training past a broken checkpoint"; }
check "training resumes from the last complete checkpoint" grep -q 'step-00000006' resumed.log
"$GYRE" data build --vocab vocab.model --source train.en --target train.de --output train.tok 2> build.log
truncate -s -5 train.tok
rejects 1 'train.tok' "$GYRE" data info --store train.tok
sets=train.tok rejects 1 'train.tok' small_train --model fresh --after 1u

# Several ranks: all ranks exit, and the first error is the last line.
rejects 1 'rank [01] of 2.*missing.en' "$ROOT/tools/scripts/mpirun.sh" -n 2 "$GYRE" train nmt --train-sets missing.en train.de \
  --vocab vocab.model --model fresh --after 1u
