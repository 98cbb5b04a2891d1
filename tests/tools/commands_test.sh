#!/usr/bin/env bash
# Tests the commands from text to a scored translation from outside, on a corpus of a few hundred sentences: a run, and
# parts that do not depend on each other.
. "$(dirname "$0")/lib.sh"
mkdir -p build && ln -s "$GYRE" build/gyre
ln -s "$ROOT/tools" tools

build/gyre data generate --output . --train 400 --val 20 --test 20
build/gyre vocab --input train.en train.de --type bpe --size 300 --output vocab.model
build/gyre vocab --type bytes --output bytes.model
build/gyre data build --vocab vocab.model --source train.en --target train.de --output train.tok
small="--dim-emb 32 --transformer-dim-ffn 32 --enc-depth 1 --dec-depth 1 --mini-batch-words 600"
mpirun -n 2 build/gyre train nmt --config tools/recipes/multi30k-tiny.toml --train-sets train.en train.de --valid-sets val.en val.de --vocab vocab.model --model run/ \
  $small --after 34u --save-freq 10u --valid-freq 15u 2> train.log || { cat train.log >&2; fail "training"; }
header() { head -c "$(od -An -td8 -N8 "$1" | tr -d ' ')" <(tail -c +9 "$1"); } # the header of a safetensors file
plan="build/gyre plan nmt --config run/train.toml --ranks 1 --gflops 100 --memory-gb 10 --json"
parameters=$(header run/checkpoints/last/model.safetensors | grep -oE '"shape":\[[0-9,]+\]' | tr -d '"shape:[]' | awk -F, '{ n = 1; for (i = 1; i <= NF; i++) n *= $i; sum += n } END { print sum }')

vocabularies_and_stores() {
  same "generated pairs" "$(wc -l < train.en) $(wc -l < train.de) $(wc -l < test.en)" "400 400 20"
  same "held-out sentences are not in the training text" "$(grep -cxFf test.en train.en || true)" 0

  build/gyre vocab --input train.en train.de --type bpe --size 300 --cpu-threads 2 --output two.model
  check "the vocabulary does not depend on the number of threads" cmp vocab.model two.model
  build/gyre data build --vocab vocab.model --source train.en --target train.de --output two.tok --cpu-threads 3 2> build.log
  check "nor does the token store" cmp train.tok two.tok
  check "the rate of building" grep -qE '^0\.0 MB of text in [0-9.]+ s with --cpu-threads '"${OMP_THREAD_LIMIT:-3}"': [0-9]+ MB per minute and thread$' build.log
  build/gyre data build --vocab bytes.model --source train.en --output bytes.tok
  mkdir bert three
  build/gyre vocab --input train.en train.de --type wordpiece --size 300 --cased --output bert/vocab.txt
  build/gyre vocab --input train.en train.de --type wordpiece --size 300 --cased --cpu-threads 3 --output three/vocab.txt
  check "nor does a WordPiece vocabulary" cmp bert/vocab.txt three/vocab.txt
  same "it is BERT's vocab.txt" "$(wc -l < bert/vocab.txt) $(head -n 5 bert/vocab.txt | tr '\n' ' ')" "300 [PAD] [UNK] [CLS] [SEP] [MASK] "
  check "the case option is stored next to it" grep -q '"do_lower_case": false' bert/tokenizer_config.json
  build/gyre data build --vocab bert/vocab.txt --source train.en --output bert.tok 2> build.log || fail "a token store with WordPiece"
  same "one token per byte" "$(build/gyre data info --store bytes.tok --json | grep -o '"tokens":[^]]*')" "\"tokens\":[$(($(wc -c < train.en) - 400))"
  printf 'One.\nTwo.\n\nThree.\n' > documents.txt
  build/gyre data build --vocab bytes.model --source documents.txt train.en --documents blank-line --output documents.tok 2> build.log
  check "three documents of two files" grep -q '^3 documents$' build.log
  build/gyre data info --store documents.tok --verify --json | contains '"documents":3,"sentences":403,' || fail "data info of documents"
  build/gyre data info --store train.tok --verify --json | contains '"sides":2,"sentences":400,' || fail "data info of pairs"
}

training_files() {
  tail -n 1 run/metrics.jsonl | contains '"event":"end".*"updates":34' || fail "the last line of metrics.jsonl: $(tail -n 1 run/metrics.jsonl)"
  compgen -G 'run/events.out.tfevents.*' > events.txt || fail "there is no TensorBoard file"
  check "the options of the run" grep -q '^after = "34u"' run/train.toml
}

resuming() {
  # In a folder of its own, because it changes the run.
  mkdir resuming
  cp -r {train,val,test}.{en,de} vocab.model run build tools resuming
  cd resuming
  build/gyre train nmt --config run/train.toml --after 40u 2> again.log || { cat again.log >&2; fail "continuing from train.toml"; }
  tail -n 1 run/metrics.jsonl | contains '"updates":40' || fail "the run did not continue"
  build/gyre train nmt --model run/ --after 42u 2> alone.log || { cat alone.log >&2; fail "continuing a run by its directory alone"; }
  check "the options of the run are named" grep -q 'options: read from run/train.toml' alone.log
  check "an option on the command line overrides the run's options" grep -q '"updates":42' <(tail -n 1 run/metrics.jsonl)
  # The run has its own vocabulary, whatever has become of the file that it was made with.
  mv vocab.model aside.model
  build/gyre train nmt --model run/ --after 43u 2> own.log || { cat own.log >&2; fail "continuing without the original vocabulary"; }
  build/gyre vocab --input train.de train.en --type unigram --size 300 --output vocab.model 2> vocab.log
  build/gyre train nmt --model run/ --after 44u 2> own.log || { cat own.log >&2; fail "continuing with another file in place of the vocabulary"; }
  check "the run continued" grep -q '"updates":44' <(tail -n 1 run/metrics.jsonl)
  rejects 1 'vocab.model is not the vocabulary of the model run' build/gyre train nmt --config run/train.toml --after 46u
  for command in "translate --model run/ --input test.en" "score --model run/ --source test.en --target test.de"; do
    rejects 1 'vocab.model is not the vocabulary of the model .*expected the fingerprint' build/gyre $command --vocab vocab.model
    build/gyre $command --vocab aside.model > right.txt 2> right.log || fail "gyre $command with the right vocabulary: $(cat right.log)"
  done
  mv aside.model vocab.model
  build/gyre train nmt --model run/ --after 44u --seed 2 2> other.log && fail "another seed was taken"
  check "and is checked" grep -q 'seed 1 -> 2' other.log
  mv run moved && build/gyre train nmt --model moved/ --overwrite 2> missing.log && fail "--overwrite took the options of the run"
  mv moved run
  build/gyre train nmt --config run/train.toml --overwrite --freeze 'no_such_*' 2> frozen.log && fail "a pattern of --freeze that matches nothing was taken"
  check "the message" grep -q 'freeze.*no_such_' frozen.log
  build/gyre train nmt --config run/train.toml --overwrite --valid-sets val.en missing.de 2> valid.log && fail "a missing validation file was taken"
  check "the message names the validation file" grep -q 'missing.de' valid.log
  check "--overwrite deletes the run only when the new one can start" [ -e run/checkpoints/last/model.safetensors ]
  check "the log keeps its lines" grep -q 'update 30\|continuing after' run/train.log
}

other_runs() {
  build/gyre train nmt --config run/train.toml --train-sets train.tok --model store/ --after 2u --precision auto 2> store.log || fail "training from a token store"
  check "a checkpoint records the precision that auto selected" grep -qE '"precision": ?"(fp32|bf16)"' store/checkpoints/last/state.json
  build/gyre train nmt --config run/train.toml --model regularized/ --after 2u --reg-alpha 5 2> regularized.log || { cat regularized.log >&2; fail "training with R-Drop"; }
  check "the weight of R-Drop, by the name of its authors" grep -q '^r-drop = 5' regularized/train.toml
  build/gyre train nmt --model regularized/ --after 3u --r-drop 4 2> regularized.log || fail "continuing with another weight of R-Drop"
  check "another weight of R-Drop is reported" grep -q 'r-drop 5 -> 4' regularized.log
  build/gyre plot --model run/ store/ --output curve.png
  same "the picture is a PNG" "$(head -c 4 curve.png | tail -c 3)" PNG
}

plans_of_a_run() {
  # A plan of a run uses its model and its vocabulary, or another vocabulary.
  same "the parameters of the plan" "$($plan | grep -oE '"parameters":[0-9]+')" "\"parameters\":$parameters"
  flops() { $plan "$@" | grep -oE '"tflop_per_step":[^,]+' | cut -d : -f 2; }
  awk -v one="$(flops)" -v two="$(flops --r-drop 5)" 'BEGIN { exit !(two > 1.98 * one && two < 2.02 * one) }' || fail "a plan with R-Drop has twice the work"
  $plan --vocab bytes.model | contains '"vocabulary":259,' || fail "plan with another vocabulary"
  for option in --vocab-size --ranks --sentence-length --json; do build/gyre plan nmt --help | contains "^  $option " || fail "$option in the help of plan"; done
  $plan --freeze 'no_such_*' > frozen.txt 2>&1 && fail "a plan with a pattern of --freeze that matches nothing"
  check "the message of a plan" grep -q 'freeze.*no_such_' frozen.txt
  $plan --vocab-size 500 | contains '"vocabulary":500,' || fail "plan with a size"
  rejects 2 '--vocab: none.model does not exist; use --vocab-size instead' $plan --vocab none.model
}

plans_of_presets() {
  # A plan of a large model neither computes nor allocates it: its weights alone would take 4.4 GB. Under a sanitizer the
  # program cannot even start with so few addresses.
  local limit=1500000
  (ulimit -v $limit && "$GYRE" --version) > /dev/null 2>&1 || limit=unlimited
  (
    ulimit -v $limit
    "$GYRE" plan lm --preset llama-1b --ranks 64 --mini-batch-words 500000 --precision fp32 --after 20Gt --json > large.json 2> large.txt
  ) || fail "a plan of a large model: $(cat large.txt)"
  grep -qE '"run":\{"updates":40000,"rows":\[\{"ranks":64,"updates":40000,.*"hours":[0-9]' large.json || fail "the total of a plan in tokens: $(cat large.json)"
  check "a note about the measurement" grep -q '^note: matrix products and the memory bandwidth of this machine are measured' large.txt
  "$GYRE" plan lm --preset lm-tiny --ranks 1 --gflops 10 --memory-gb 5 --after 3e > /dev/null 2> large.txt
  same "why there is no total" "$(cat large.txt)" "note: the time of the whole run needs --epoch-items, because --after is in epochs"
  for zero in '--after 0u' '--after-epochs 0' '--after 3e --epoch-items 0'; do
    # shellcheck disable=SC2086 # several words
    "$GYRE" plan lm --preset lm-tiny --ranks 1 --gflops 10 --memory-gb 5 $zero > /dev/null 2> zero.txt
    check "a plan with $zero wants a positive number" grep -qE '^note: the time of the whole run needs a positive --(after|epoch-items),' zero.txt
  done
  rejects 2 '^gyre: .plan. expected a subcommand before --preset: nmt, mlm, lm, ' "$GYRE" plan --preset lm-tiny
  "$GYRE" plan lm --preset lm-tiny --ranks 1,2,4 --gflops 10 --memory-gb 5 --max-length 128 --mini-batch 2 --after 1Kt > idle.txt 2> idle.log
  same "ranks without a sample" "$(cat idle.log)" "note: a batch has 2 items: of 4 ranks only 2 compute; a larger batch gives work to all"
  check "updates for a number of tokens" grep -qx 'the whole run: 4 updates, without validation and saving' idle.txt
}

plans_for_gpus() {
  gpus="build/gyre plan nmt --config run/train.toml --device h200 --precision bf16"
  same "the parameters of the plan for GPUs" "$($gpus --json | grep -oE '"parameters":[0-9]+')" "\"parameters\":$parameters"
  $gpus --gpus 1,1024 --gflops 500000 > gpus.txt
  check "a row for 1024 GPUs" grep -qE '^ +1024 .*yes$' gpus.txt
  step() { $gpus --gpus 2 --json "$@" | grep -oE '"(launches|tokens_of_gpu|micro_batches)":[0-9.]+' | head -n 3 | tr '\n' ' '; }
  same "micro-batches by number or per GPU" "$(step --micro-batches 8)" "$(step --optimizer-delay 4)"
  same "numbers of GPUs that the micro-batches suffice for" "$($gpus --deterministic --json | grep -oE '"gpus":[0-9]+' | tail -n 1)" '"gpus":8'
  check "the kinds of GPUs in the help" grep -q 'h200, h100, a100' <(build/gyre plan nmt --help)
  $gpus --mini-batch-words 1000000000000 --gpus 1 > huge.txt
  check "an extrapolated batch" grep -qx '1 GPUs: the micro-batch is extrapolated from one of [0-9]* tokens' huge.txt
  check "a replaced figure" grep -q 'products of large bf16 matrices: 500 TFLOP/s [(]given' gpus.txt
  rejects 2 ".*expected a kind of GPU .h200, h100, a100., cpu, cuda or cuda:N, got 'h300'" build/gyre plan nmt --config run/train.toml --device h300
}

translations() {
  build/gyre translate --model run/ --beam-size 4 --length-penalty 0.6 < test.en > hyp.de 2> translate.log
  check "the checkpoint is named" grep -qxE 'model: run/checkpoints/step-[0-9]{8} \(best; the last is step-00000034\)' translate.log
  same "as many translations as lines" "$(wc -l < hyp.de)" 20
  printf 'One.\n\n   \nTwo' | build/gyre translate --model run/ --quiet > empty.de
  same "empty lines stay empty" "$(wc -l < empty.de) $(grep -c '^$' empty.de)" "4 2"
  tac test.en | build/gyre translate --model run/ --mini-batch 3 --maxi-batch 2 --quiet | tac > reversed.de
  check "order and batches do not change translations" cmp hyp.de reversed.de
  head -n 3 test.en | build/gyre translate --model run/ --checkpoint last --n-best 2 --length-penalty-form gnmt --quiet > nbest.de
  same "n-best lines" "$(grep -cE '^[0-2] \|\|\| .* \|\|\| F0= -[0-9.]+ \|\|\| -[0-9.]+$' nbest.de)" 6
  build/gyre translate --model run/ --beam-size 1 --input test.en --output greedy.de --quiet
  same "greedy translations in a file" "$(wc -l < greedy.de)" 20
  build/gyre translate --model run/ --precision int8 --input test.en --output int8.de --quiet
  same "translations in int8" "$(wc -l < int8.de)" 20
  tac test.en | build/gyre translate --model run/ --precision int8 --mini-batch 3 --cpu-threads 1 --quiet | tac > reversed.de
  check "neither batches nor threads change translations in int8" cmp int8.de reversed.de
}

pictures_of_attention() {
  # Attention of a translation model: every map has its own names of queries and keys.
  plot() { build/gyre plot attention --model run/ --text "A man is riding a horse." --output weights.svg --data weights.json "$@" 2> plot.log || { cat plot.log >&2; fail "plot attention"; }; }
  if command -v gnuplot > /dev/null; then
    tokens() { grep -oE "\"$1\":\[[^]]*\]" weights.json | cut -d: -f2-; }
    plot --target "Ein Mann." --head all
    contains '"attention":"cross-attention"' < weights.json || fail "the kind of attention"
    contains '^\["<s>",.*\.' <<< "$(tokens queries)" || fail "queries of cross-attention: $(tokens queries)"
    contains '"</s>"\]$' <<< "$(tokens keys)" || fail "keys of cross-attention: $(tokens keys)"
    check "every token in the picture" grep -qF "lt;/s>" weights.svg
    cross_keys=$(tokens keys) cross_queries=$(tokens queries)
    plot --part encoder
    same "queries and keys of the encoder" "$(tokens queries) $(tokens keys)" "$cross_keys $cross_keys"
    plot --part decoder --target "Ein Mann."
    same "queries and keys of the decoder" "$(tokens queries) $(tokens keys)" "$cross_queries $cross_queries"
    plot --layer 0
    rejects 2 '--layer: expected one of the 1 layers' build/gyre plot attention --model run/ --text "A man." --layer 1
  else
    skipped "plot attention" "gnuplot is not installed"
  fi
}

scores() {
  tac test.de > hyp.de
  build/gyre evaluate bleu --reference test.de --json < hyp.de > bleu.json
  check "BLEU with its signature" grep -qE '^\{"bleu":[0-9.e-]+,"protocol":"sacrebleu","signature":"nrefs:1\|case:mixed' bleu.json
  same "BLEU of the reference itself" "$(build/gyre evaluate bleu --reference test.de --json < test.de | cut -c-13)" '{"bleu":100.0'
  same "exact match" "$(build/gyre evaluate exact-match --reference test.de --json < test.de)" '{"exact_match":100.0,"lines":20}'
  build/gyre evaluate chrf --reference test.de --chrf-word-order 2 < hyp.de | contains '^chrF2\+\+\|' || fail "chrF"
}

averages() {
  build/gyre checkpoint average --model run/ --last 3
  build/gyre translate --model run/ --checkpoint average --quiet < test.en > average.de
  same "translations of the average" "$(wc -l < average.de)" 20
  build/gyre checkpoint verify --model run/ --checkpoint last --json | contains '"whole":true' || fail "checkpoint verify"
  build/gyre checkpoint info --model run/ --checkpoint last --json | contains '"updates":34.*"micro_batches":' || fail "checkpoint info"
}

hugging_face() {
  # To and from Hugging Face's transformers.
  theirs=$ROOT/tests/train/golden/hugging_face/bert
  printf '2 5 6 10 4 5 12 14 3\n2 3\n' > ids.txt
  build/gyre import --from hf "$theirs" --output imported/ 2> import.log
  build/gyre forward --model imported/ --ids ids.txt --output out.safetensors
  build/gyre export --to hf --model imported/ --output DIR2 2> export.log
  tensors=$(header DIR2/model.safetensors | grep -o data_offsets | wc -l)
  check "what was read" grep -qx "read $theirs: $tensors tensors" import.log
  check "what was made of it" grep -qxE 'made imported/: encoder-only of [0-9]+ parameters in [0-9]+ tensors, none newly initialized, a vocabulary of 20 pieces' import.log
  same "what was exported" "$(cat export.log)" "model: imported/checkpoints/step-00000000 (last)
made DIR2: BertForMaskedLM of $(grep -oE '[0-9]+ parameters' import.log) in $tensors tensors, a vocabulary of 20 pieces"
  check "one tensor of logits per line" grep -qa '"logits.0":{"dtype":"F32","shape":\[9,20\],.*"logits.1":{"dtype":"F32","shape":\[2,20\]' out.safetensors
  build/gyre forward --model imported/ --ids ids.txt --mini-batch-words 1 --output single.safetensors
  same "batches do not change the shapes" "$(wc -c < single.safetensors)" "$(wc -c < out.safetensors)"
  printf '0 0 0 0 1 1 1 1 1\n0 1\n' > types.txt
  build/gyre forward --model imported/ --ids ids.txt --token-types types.txt --output typed.safetensors
  cmp -s out.safetensors typed.safetensors && fail "token types change nothing"
  same "the vocabulary comes back" "$(cat DIR2/vocab.txt)" "$(cat "$theirs/vocab.txt")"
  build/gyre import --from hf DIR2 --output again/
  check "export and import preserve the bits" cmp imported/checkpoints/last/model.safetensors again/checkpoints/last/model.safetensors
  build/gyre checkpoint verify --model imported/ --json | contains '"whole":true' || fail "checkpoint verify of an imported run"
  build/gyre import --from hf "$ROOT/tests/train/golden/hugging_face/roformer-classifier" --output classifier/
  build/gyre forward --model classifier/ --ids ids.txt --output classes.safetensors
  check "a classifier has one logit per class" grep -qa '"logits.1":{"dtype":"F32","shape":\[2\]' classes.safetensors
  build/gyre checkpoint info --model imported/ --json | contains '"imported":".*/bert/?"' || fail "checkpoint info of an imported run"
}

paths_and_gradients() {
  build/gyre gradcheck --op rope --json | contains '^\{"passed":true' || fail "gradcheck"
  # JSON of a path that is not UTF-8.
  cp -r run $'caf\351'
  build/gyre gradcheck --model $'caf\351' --segments 1 --length 4 --entries 1 --json | contains '"model":"caf' || fail "gradcheck of a path that is not UTF-8"
  build/gyre checkpoint prune --model $'caf\351' --keep-last 1 --json | contains '^\{"removed":\["caf.*/step-' || fail "checkpoint prune of a path that is not UTF-8"
}

benchmarks() {
  # Benchmarks: every metric is above zero, and the share refers to the measured limit.
  field() { grep -oE "\"$1\":[0-9.e+-]+" bench.json | head -n 1 | cut -d: -f2; }
  bench() { # bench WORDS... : FIELD...
    local words=() name
    while [ "$1" != : ]; do
      words+=("$1")
      shift
    done
    shift
    timeout 1200 build/gyre bench "${words[@]}" --json > bench.json || fail "bench ${words[*]}"
    for name in gflops limit_gflops share "$@"; do
      awk -v x="$(field "$name")" 'BEGIN { exit !(x > 0) }' || fail "bench ${words[*]}: $name in $(cat bench.json)"
    done
    awk -v g="$(field gflops)" -v l="$(field limit_gflops)" -v s="$(field share)" \
      'BEGIN { d = s * l / g - 1; exit !(d < 1e-3 && d > -1e-3) }' || fail "bench ${words[*]}: the share in $(cat bench.json)"
    echo "ok: bench ${words[*]}"
  }
  bench step --preset multi30k-tiny --text train --steps 2 --profile : tokens_per_second step_ms peak_rss_mb forward_ms
  same "the batches of the bench" "$(grep -o 'lengths of train.en and .de' bench.json)" 'lengths of train.en and .de'
  for name in linear attention optimizer; do contains "\"name\":\"$name\"" < bench.json || fail "no $name in the profile"; done
  bench step --preset mlm-small --steps 1 --precision auto --recompute block : tokens_per_second step_ms peak_rss_mb activations_mb
  bench ops --preset multi30k-tiny --steps 1 : gbytes limit_gbytes memory_share forward_ms
  OMP_DYNAMIC=true bench gemm --preset multi30k-tiny --steps 1 --threads 2 : forward_gflops dinput_gflops dweight_gflops
  bench attention --kind linear,softmax --lengths 64,100 --segments 3 --steps 1 : us_per_token peak_mb
  bench decode --text train --sentences 20 --steps 1 : sentences_per_second tokens_per_second peak_rss_mb
  bench decode --model run/ --input test.en --steps 1 : sentences_per_second tokens_per_second peak_rss_mb
  bench decode --model run/ --input test.en --steps 1 --precision int8 : sentences_per_second tokens_per_second
  if [ "$(env -u OMP_NUM_THREADS nproc)" -gt 1 ]; then
    timeout 1200 build/gyre bench ranks --steps 1 --turns 1 --mpirun tools/scripts/mpirun.sh --json > bench.json 2> bench.log || { cat bench.log >&2; fail "bench ranks"; }
    contains '"ranks":1,.*"ranks":2,.*"command":"' < bench.json || fail "bench ranks: $(cat bench.json)"
  else
    skipped "bench ranks" "one core"
  fi
  OMP_THREAD_LIMIT=1 timeout 1200 build/gyre bench gemm --preset multi30k-tiny --steps 1 --threads 2 > bench.txt ||
    fail "bench gemm if OpenMP starts fewer threads than requested"
  check "a table and one metric per line" grep -q '^limit_gflops: [0-9]' bench.txt
}

build_information() {
  build/gyre --version | contains '^gyre [0-9]' || fail "--version"
  cpu_has() { grep -m 1 '^flags' /proc/cpuinfo | grep -qw "$1" && echo yes || echo no; }
  fact() { sed -n "s/^$1: //p" facts.txt; }
  env -u OMP_THREAD_LIMIT OMP_NUM_THREADS=3 OPENBLAS_CORETYPE=Nehalem build/gyre --build-info > facts.txt
  same "the output has lines 'name: value' with unique names" "$(grep -cE '^[A-Za-z0-9 -]+: [^ ]' facts.txt) $(cut -d: -f1 facts.txt | sort -u | wc -l)" \
    "$(wc -l < facts.txt) $(wc -l < facts.txt)"
  same "threads" "$(fact threads)" 3
  [ -n "$(fact CUDA)" ] || fail "a line about CUDA"
  same "no op is composed" "$(fact 'composed ops on the CPU')" none
  same "composed ops on GPUs" "$(fact 'composed ops on GPUs')" "segment_mean, head_dot, head_divide, squared_error, margin_loss"
  same "composed ops of the environment" "$(GYRE_COMPOSED=attention,layer_norm build/gyre --build-info | sed -n 's/^composed ops on the CPU: //p')" "layer_norm, attention"
  rejects 2 '^gyre: GYRE_COMPOSED: expected all, or some of linear, .*; got layernorm$' env GYRE_COMPOSED=layernorm build/gyre --build-info
  same "BLAS kernels" "$(fact 'BLAS kernels')" Nehalem
  same "advice if the CPU has AVX-512 but the kernels do not use it" "$(fact 'BLAS advice' | grep -c Nehalem || true)" "$([ "$(cpu_has avx512f)" = yes ] && echo 1 || echo 0)"
  same "AVX512-BF16" "$(fact 'CPU has AVX512-BF16')" "$(cpu_has avx512_bf16)"
  same "AMX-BF16" "$(fact 'CPU has AMX-BF16')" "$(cpu_has amx_bf16)"
  fact 'CPU kernels available' | grep -qE "(^|, )$(fact 'CPU kernels')$" || fail "the selected kernels are not the last of the available ones"
  fact MPI | contains '[0-9]+\.[0-9]+' || fail "the version of MPI"
  build/gyre train nmt --help | contains '--learn-rate' || fail "--help"
}

parts vocabularies_and_stores training_files resuming other_runs plans_of_a_run plans_of_presets plans_for_gpus \
  translations pictures_of_attention scores averages hugging_face paths_and_gradients benchmarks build_information
