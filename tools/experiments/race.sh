#!/usr/bin/env bash
# Measures the time to a given quality: trains models that reach it, and prints the minutes of each training.
#   tools/experiments/race.sh MULTI30K OUTPUT [OPTIONS OF gyre train]...
# MULTI30K contains train.en, train.de, test_2016_flickr.en, test_2016_flickr.de. OUTPUT gets runs ARM-SEED/ and
# race.tsv (arm, seed, updates, minutes, quality, goal, reached). Existing results are kept, so the script resumes.
# Environment: SEEDS="1 2", PRECISION=auto, PIECES (of the vocabularies), GYRE=build/gyre, PYTHON=python3 with torch,
# sentencepiece and safetensors, MARIAN, and ARMS, of
#   gyre-38 gyre-41     transformer-tiny to 38 and 41 BLEU on test_2016_flickr (sacreBLEU's 13a, beam 4)
#   torch-38 torch-41   the same model, data, batch size, optimizer and schedule in PyTorch, the faster of eager and
#                       compiled; translated by Gyre
#   marian-38 marian-41 the same sizes, data and batch size in MARIAN (marian 1.12), with sinusoidal positions and Adam
#   novels              a small LLaMA with Muon to a validation loss of LOSS=4.6 on the documents in TEXT
# The default is the arms that can run: those of PyTorch if PYTHON has it, those of Marian if MARIAN is set, novels if
# TEXT is set. UPDATES replaces the number of updates, WARMUP those of the warm-up. Further options of gyre train change
# the arms of Gyre only. The minutes of translation models of Gyre and Marian are those of the whole training program;
# the others leave out reading the data, and those of PyTorch compiling.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C # numbers with a decimal point
here=$(dirname "$0")
. "$here/lib.sh"
if [ $# -lt 2 ]; then
  sed -n '3,17s/^# *//p' "$0" >&2
  exit 2
fi
data=$1
output=$2
shift 2
options=("$@")
gyre=${GYRE:-build/gyre}
python=${PYTHON:-python3}
precision=${PRECISION:-auto}
test=$data/test_2016_flickr
has_torch() { "$python" -c 'import torch, sentencepiece, safetensors' 2> /dev/null; }

# The schedule to each goal. It was tuned on BLEU of val.en.
declare -A updates=([38]=1250 [41]=3250) dropout=([38]=0.1 [41]=0.2)
novel_updates=1000
if [ -n "${UPDATES:-}" ]; then updates=([38]=$UPDATES [41]=$UPDATES) novel_updates=$UPDATES; fi
words=3000 rate=1.2e-2 warmup=${WARMUP:-200} smoothing=0.1 loss=${LOSS:-4.6}

arms=${ARMS:-gyre-38 gyre-41}
if [ -z "${ARMS:-}" ]; then
  if has_torch; then arms+=' torch-38 torch-41'; fi
  [ -z "${MARIAN:-}" ] || arms+=' marian-38 marian-41'
  [ -z "${TEXT:-}" ] || arms+=' novels'
fi
for arm in $arms; do
  case $arm in
    gyre-38 | gyre-41) ;;
    marian-38 | marian-41) [ -n "${MARIAN:-}" ] || { echo "race: the arm $arm needs MARIAN, the program" >&2; exit 1; } ;;
    torch-38 | torch-41) has_torch || { echo "race: $python lacks torch, sentencepiece or safetensors" >&2; exit 1; } ;;
    novels) [ -n "${TEXT:-}" ] || { echo "race: the arm novels needs TEXT, a file with documents" >&2; exit 1; } ;;
    *) echo "race: ARMS: expected gyre-38, torch-38, marian-38, the same with 41, or novels, got $arm" >&2; exit 2 ;;
  esac
done

torch_precision=$precision
if [ "$precision" = auto ]; then
  torch_precision=fp32
  if grep -qE '^CPU has (AVX512-BF16|FEAT_BF16): yes' <<< "$("$gyre" --build-info)"; then torch_precision=bf16; fi
fi

mkdir -p "$output"
table=$output/race.tsv
touch "$table"

# Lets OpenBLAS choose its kernels for this CPU.
run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$@" 2>> "$output/log"; }
field() { # field NAME < one JSON object
  grep -oE "\"$1\":(\"[^\"]*\"|[0-9.e+-]+)" | head -n 1 | cut -d: -f2 | tr -d '"'
}
minutes_of() { awk -v seconds="$1" 'BEGIN { printf "%.2f", seconds / 60 }'; }
record() { # record ARM SEED UPDATES SECONDS QUALITY GOAL REACHED
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(minutes_of "$4")" "$5" "$6" "$7" >> "$table"
}
record_translation() { # record_translation ARM SEED UPDATES SECONDS TRANSLATOR...: BLEU of the translated test set
  local arm=$1 seed=$2 count=$3 seconds=$4 score goal=${1#*-}
  run "${@:5}" < "$test.en" > "$output/hyp.de"
  score=$("$gyre" evaluate bleu --reference "$test.de" --json < "$output/hyp.de" | field bleu)
  record "$arm" "$seed" "$count" "$seconds" "$score" "$goal" \
    "$(awk -v a="$score" -v b="$goal" 'BEGIN { print (a >= b ? "yes" : "no") }')"
}
seconds_since() { awk -v begin="$1" -v now="$EPOCHREALTIME" 'BEGIN { print now - begin }'; }
decoding=(--beam-size 4 --length-penalty 1)

train_translation() { # train_translation GOAL SEED RUN OPTIONS...
  local goal=$1 seed=$2 model=$3
  shift 3
  run "$gyre" train nmt --task transformer-tiny --norm pre --position rope --precision "$precision" --seed "$seed" \
    --train-sets "$data/train.en" "$data/train.de" --vocab "$output/joint.model" --model "$model" --overwrite --quiet \
    --optimizer muon --weight-decay 0.1 --learn-rate $rate --transformer-dropout "${dropout[$goal]}" \
    --label-smoothing $smoothing --mini-batch-words $words --save-freq 1000000u "$@" "${options[@]}"
  check_ended "$model"
}

gyre_arm() { # gyre_arm GOAL SEED RUN
  local begin=$EPOCHREALTIME
  train_translation "$1" "$2" "$3" --lr-schedule linear --lr-warmup "$warmup" --after "${updates[$1]}u"
  record_translation "gyre-$1" "$2" "${updates[$1]}" "$(seconds_since "$begin")" \
    "$gyre" translate --model "$3" "${decoding[@]}"
}

# The steps of PyTorch are timed eager and compiled, and the faster one trains.
torch_arm() { # torch_arm GOAL SEED RUN
  local goal=$1 seed=$2 model=$3 faster=() eager compiled result seconds
  train_translation "$goal" "$seed" "$output/initial" --after 1u --lr-warmup 1 --lr-warmup-start-rate 0
  torch() {
    run "$python" "$here/../bench/peers/torch_translation.py" --train "$data/train.en" "$data/train.de" \
      --vocab "$output/joint.model" --template "$output/initial/checkpoints/last/model.safetensors" --seed "$seed" \
      --mini-batch-words $words --learn-rate $rate --dropout "${dropout[$goal]}" --optimizer muon --weight-decay 0.1 \
      --label-smoothing $smoothing --precision "$torch_precision" --threads "$(nproc)" "$@"
  }
  speed() { torch --updates 40 --lr-warmup 20 --output "$output/speed/model.safetensors" "$@" | field tokens_per_second; }
  eager=$(speed)
  compiled=$(speed --compile)
  if awk -v a="$compiled" -v b="$eager" 'BEGIN { exit !(a > b) }'; then faster=(--compile); fi
  echo "$(basename "$model"): PyTorch trains $eager tokens/s eager, $compiled compiled" >&2
  result=$(torch "${faster[@]}" --updates "${updates[$goal]}" --lr-warmup "$warmup" --output "$model/model.safetensors")
  seconds=$(field seconds <<< "$result")
  record_translation "torch-$goal" "$seed" "${updates[$goal]}" "$seconds" \
    "$gyre" translate --model "$model/model.safetensors" "${decoding[@]}"
}

marian_arm() { # marian_arm GOAL SEED RUN
  local begin vocabularies=("$output/joint.spm" "$output/joint.spm")
  cp "$output/joint.model" "$output/joint.spm"
  rm -rf "$3" # marian would continue it
  mkdir -p "$3"
  begin=$EPOCHREALTIME
  run "$MARIAN" train --type transformer --dim-emb 128 --transformer-heads 4 --transformer-dim-ffn 256 --enc-depth 4 \
    --dec-depth 4 --transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n \
    --tied-embeddings-all --transformer-dropout "${dropout[$1]}" --label-smoothing $smoothing --max-length 256 \
    --train-sets "$data/train.en" "$data/train.de" --vocabs "${vocabularies[@]}" --model "$3/model.npz" --seed "$2" \
    --mini-batch-words $words --maxi-batch 100 --learn-rate 4e-3 --lr-warmup "$warmup" --lr-decay-inv-sqrt "$warmup" \
    --optimizer-params 0.9 0.98 1e-9 --clip-norm 0 --cost-type ce-mean-words --cpu-threads "$(nproc)" \
    --sync-sgd --workspace 2000 --after "${updates[$1]}u" --save-freq 1000000u
  record_translation "marian-$1" "$2" "${updates[$1]}" "$(seconds_since "$begin")" "$MARIAN" decode \
    --models "$3/model.npz" --vocabs "${vocabularies[@]}" --beam-size 4 --normalize 1 --cpu-threads "$(nproc)" --quiet
}

novels_arm() { # novels_arm SEED RUN
  local entry count seconds reached
  [ -e "$output/tokenizer.json" ] ||
    run "$gyre" vocab --type byte-bpe --input "$TEXT" --size "${PIECES:-4000}" --output "$output/tokenizer.json"
  [ -e "$output/text.tok" ] || run "$gyre" data build --vocab "$output/tokenizer.json" --source "$TEXT" \
    --documents blank-line --output "$output/text.tok"
  run "$gyre" train lm --config "$here/../recipes/story.toml" --preset llama-tiny --precision "$precision" --seed "$1" \
    --optimizer muon --learn-rate 2e-3 --train-sets "$output/text.tok" --vocab "$output/tokenizer.json" --model "$2" \
    --overwrite --quiet --after "${novel_updates}u" --valid-freq "$(((novel_updates + 9) / 10))u" "${options[@]}"
  check_ended "$2"
  # The first validation that reaches the loss, else the last one.
  entry=$(grep '"event":"valid"' "$2/metrics.jsonl" | while read -r entry; do
    printf '%s\t%s\n' "$(field loss <<< "$entry")" "$entry"
  done | awk -F'\t' -v goal="$loss" '!found { last = $2; found = $1 <= goal } END { print last }')
  count=$(field updates <<< "$entry") seconds=$(field seconds <<< "$entry") reached=$(field loss <<< "$entry")
  record novels "$1" "$count" "$seconds" "$reached" "$loss" \
    "$(awk -v a="$reached" -v b="$loss" 'BEGIN { print (a <= b ? "yes" : "no") }')"
}

if [[ $arms == *-* ]] && [ ! -e "$output/joint.model" ]; then
  run "$gyre" vocab --input "$data/train.en" "$data/train.de" --type bpe --size "${PIECES:-10000}" --output "$output/joint.model"
fi
for seed in ${SEEDS:-1 2}; do
  for arm in $arms; do
    if grep -q "^$arm	$seed	" "$table"; then continue; fi
    case $arm in
      gyre-*) gyre_arm "${arm#*-}" "$seed" "$output/$arm-$seed" ;;
      marian-*) marian_arm "${arm#*-}" "$seed" "$output/$arm-$seed" ;;
      torch-*) torch_arm "${arm#*-}" "$seed" "$output/$arm-$seed" ;;
      novels) novels_arm "$seed" "$output/$arm-$seed" ;;
    esac
  done
done
printf 'arm\tseed\tupdates\tminutes\tquality\tgoal\treached\n'
sort "$table"
