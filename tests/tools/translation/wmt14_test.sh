#!/usr/bin/env bash
# Tests tools/experiments/wmt14.sh on small archives from a server on the loopback: downloads that fail, both
# preparations up to the bundle, and calls that are killed in each stage and end with the same bytes.
. "$(dirname "$0")/../lib.sh"
for program in perl curl flock; do
  command -v $program > /dev/null || skip_test wmt14 "$program is not installed"
done
wmt14=$ROOT/tools/experiments/wmt14.sh
stages="fetch prepare vocab store train average translate score"

# Small archives of the same inner layout. In each of the three corpora, a pair is in a test set.
mirror=$ROOT/tools/experiments/wmt14_mirror.sh
"$GYRE" data generate --output . --train 1 --val 12 --test 20 --seed 3
{ sed -n 5p test.en && echo 'He said: "This is a well-known test," and left.'; } > text.en
{ sed -n 5p test.de && echo 'Er sagte: „Das ist ein wohl-bekannter Test“ und ging.'; } > text.de
rejects 2 '^tools/experiments/wmt14.sh OUTPUT --mirror' "$mirror" archives
rejects 2 'PAIRS: expected a number from 100, got 12' "$mirror" archives 12
rejects 2 '--pair: expected one of en-de en-fr, got en-cs' "$mirror" --pair en-cs archives 100
check "archives are written" "$mirror" archives 1000 text val test
same "only archives are left" "$(find archives -type f ! -name '*.tgz' -printf '%f\n')" SHA256SUMS
cp archives/SHA256SUMS .

perl "$ROOT/tests/tools/translation/archive_server.pl" archives port requests &
for _ in $(seq 50); do if [ ! -e port ]; then sleep 0.1; fi; done
server=http://127.0.0.1:$(cat port)
served=(--digests SHA256SUMS --stall-seconds 1)
tiny=(-- --dim-emb 16 --transformer-dim-ffn 32 --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 300
  --learn-rate 1e-3 --after 24u --save-freq 4u --valid-freq 12u --valid-metrics cross-entropy --keep-last 0
  --deterministic --micro-batches 1 --threads 1 --quiet)

# Calls.
rejects 2 '^wmt14.sh OUTPUT|^Stages|after an interruption' "$wmt14"
rejects 2 'expected one of fairseq tensor2tensor, got moses' "$wmt14" out --preparation moses
rejects 2 '--pair: expected one of en-de en-fr, got fr-en' "$wmt14" out --pair fr-en
rejects 2 '--news-commentary v12: expected v9 with --pair en-fr' "$wmt14" out --pair en-fr --news-commentary v12
rejects 2 '--ranks: expected a number from 1, got 0' "$wmt14" out --ranks 0
rejects 2 'unknown option --speed' "$wmt14" out --speed 1
rejects 2 'expected a value after --size' "$wmt14" out --size
rejects 2 '--digests would have no effect' "$wmt14" out --digests SHA256SUMS
rejects 2 '--sample-lines would have no effect' "$wmt14" out --preparation fairseq --sample-lines 5
rejects 2 'expected lastN such as last5, or ema, got last' "$wmt14" out --average last
rejects 2 'expected one of fetch .*, got cook' "$wmt14" out --stages "fetch cook"
check "a wrong call creates nothing" test ! -e out
rejects 2 '^wmt14.sh OUTPUT|after an interruption' "$wmt14" ''
rejects 2 '--vocab: expected none after --' "$wmt14" out -- --vocab=other.model
rejects 2 '--skip train: expected another stage than those to be redone' "$wmt14" out --skip train --redo train
rejects 1 'expected stage fetch to be done' "$wmt14" none --stages prepare

# Servers.
fetch() { # BEHAVIOR FOLDER OPTION...
  "$wmt14" "$2" --mirror "$server/$1" "${served[@]}" --stages fetch "${@:3}" > fetch.log 2>&1
}
for behavior in good cut slow whole corrupt-once; do
  fetch $behavior out-$behavior || { cat fetch.log; fail "server: $behavior"; }
  (cd out-$behavior/fetch && sha256sum --quiet --check --ignore-missing ../../SHA256SUMS) || fail "digests: $behavior"
  same "files of the server: $behavior" "$(find out-$behavior/fetch -type f | wc -l)" 6
done
check "a broken transfer is resumed" grep -q 'GET /cut/.* from [1-9]' requests
check "a stalled transfer is resumed" grep -q 'GET /slow/.* from [1-9]' requests
rejects 1 'expected a file with the sha256 digest [0-9a-f]{64}, got [0-9]+ bytes with .*, twice' \
  "$wmt14" bad --mirror "$server/corrupt" "${served[@]}" --stages fetch
same "a wrong archive is removed" "$(find bad/fetch -type f)" ""
rejects 1 'whole-cut/.*no progress in 5 attempts' "$wmt14" bad --mirror "$server/whole-cut" "${served[@]}" --stages fetch
rejects 1 'gone/.*HTTP status 404' "$wmt14" bad --mirror "$server/gone" "${served[@]}" --stages fetch
grep -v nc-v9 SHA256SUMS > fewer
rejects 2 'expected a line with the SHA-256 digest of training-parallel-nc-v9.tgz' "$wmt14" bad --mirror "$server/good" --digests fewer
rejects 1 'expected the sha1 digest|expected a file with the sha256 digest' "$wmt14" bad --mirror "$server/good" --stages fetch
fetch good out-v12 --news-commentary v12
check "News Commentary v12" test -s out-v12/fetch/training-parallel-nc-v12.tgz
cp -r out-v12 out-local
for name in dev test-full; do rm out-local/fetch/$name.tgz; done
head -c 200 archives/test-full.tgz > out-local/fetch/test-full.tgz.part
{ cat archives/dev.tgz && echo more; } > out-local/fetch/dev.tgz.part
"$wmt14" out-local --mirror "file://$PWD/archives" --digests SHA256SUMS --news-commentary v12 --stages "fetch prepare" \
  --redo fetch > fetch.log 2>&1 || { cat fetch.log; fail "a mirror in a folder"; }
same "pairs with News Commentary v12" "$(wc -l < out-local/prepare/train.en)" 1013

# The beginning of a file is kept, a file that was changed later is not.
head -c 200 archives/dev.tgz > out-good/fetch/dev.tgz.part
echo wrong > out-good/fetch/test-full.tgz
rm out-good/fetch/dev.tgz
: > requests
fetch good out-good --redo fetch
check "the download continues" grep -q 'GET /good/dev.tgz HTTP/1.1 from 200' requests
same "only these are fetched" "$(wc -l < requests)" 2

space() { (stage=fetch && . "$ROOT/tools/experiments/wmt14/stages.sh" && require_space "$@"); }
check "a file that fits" space 1000 fetch/dev.tgz
rejects 1 'fetch/dev.tgz needs 1000000000000.0 MB, and .* has [0-9.]+ MB left' space 1000000000000000000 fetch/dev.tgz

# Checkpoints to average: neither those of signals nor those of validations between the regular ones.
mkdir -p checkpoints/train/checkpoints/step-0000{1000,1500,2000,2345,3000,3333}
ln -s step-00003333 checkpoints/train/checkpoints/last
regular() { # SAVE_FREQ COUNT
  (cd checkpoints && echo "save-freq = \"$1\"" > train/train.toml && . "$ROOT/tools/experiments/wmt14/train.sh" &&
    regular_checkpoints "$2" | sed 's/step-0*//' | paste -sd ' ')
}
same "checkpoints every 1Ku" "$(regular 1Ku 9)" "1000 2000 3000 3333"
same "the last checkpoints every 500u" "$(regular 500u 3)" "2000 3000 3333"
same "checkpoints at times that updates do not show" "$(regular 100Kt 9)" "1000 1500 2000 2345 3000 3333"
kept() { # SIZE AVERAGE
  (root=$ROOT size=$1 position=rope average=$2 && . "$ROOT/tools/experiments/wmt14/train.sh" && keep_enough)
}
same "the recipe keeps enough" "$(kept base last5)$(kept big last20)$(kept base ema)" ""
same "more checkpoints to keep" "$(kept base last20)" "--keep-last 25"

settings() { # PAIR SIZE POSITION
  (root=$ROOT pair=$1 size=$2 position=$3 && . "$ROOT/tools/experiments/wmt14/train.sh" && options_of_papers | paste -sd ' ')
}
same "options of papers" "$(settings en-de big rope)|$(settings en-fr base shaw)|$(settings en-fr big shaw)|$(settings en-de big shaw)" \
  "||--transformer-dropout 0.1 --shaw-clip 8|--shaw-clip 8"

run() { # FOLDER PREPARATION OPTION...
  "$wmt14" "$1" --mirror "$server/good" "${served[@]}" --preparation "$2" --vocab-size 300 --average last3 "${@:3}" "${tiny[@]}"
}
check_bundle() { # FOLDER LANGUAGE SCORES
  (cd "$1/bundle" && sha256sum --quiet --check SHA256SUMS) || fail "the digests of the bundle"
  local file
  for file in commands.txt options.txt versions.txt inputs.sha256 config.json train.toml data/clean.json data/check.txt \
    measured/metrics.jsonl scores/newstest2014.{txt,jsonl} {hypotheses/newstest2014-filtered,references/newstest2013}."$2"; do
    [ -s "$1/bundle/$file" ] || fail "$1/bundle/$file is missing or empty"
  done
  same "translations of $1" "$(wc -l < "$1/bundle/hypotheses/newstest2014.$2")" 20
  same "scores of $1" "$(sed -nE 's/^([^|]*)\|nrefs.* = .*±.*/\1/p' "$1/bundle/scores/newstest2014.txt" | paste -sd ,)" "$3"
  same "figures without a name" "$(grep -cv '|nrefs' "$1/bundle/scores/newstest2014.txt" || true)" 0
}
cp -r out-good/fetch out-good/.stages .
for preparation in tensor2tensor fairseq; do
  mkdir whole-$preparation
  cp -r fetch whole-$preparation
  run whole-$preparation $preparation > run.log 2>&1 || { tail -n 30 run.log; fail "$preparation"; }
  tokens=$([ $preparation = tensor2tensor ] || echo ',multi-bleu BLEU')
  check_bundle whole-$preparation de "sacreBLEU,multi-bleu BLEU,compound-split BLEU$tokens,chrF2++,TER"
  check "the summary" test "$(wc -l < whole-$preparation/summary.txt)" -eq 9
  check "the overlap is counted" grep -q '"excluded":3\b' whole-$preparation/bundle/data/clean.json
done
same "validation of tensor2tensor" "$(wc -l < whole-tensor2tensor/prepare/valid.en)" 12
same "validation of fairseq" "$(wc -l < whole-fairseq/prepare/valid.en)" 10
check "hyphens are split" grep -q 'well @-@ known' whole-fairseq/prepare/train.en
check "quotes are normalized and escaped" grep -q '&quot; Das ist ein wohl @-@ bekannter Test &quot;' whole-fairseq/prepare/train.de
check "raw text stays" grep -q '„Das ist ein wohl-bekannter Test“' whole-tensor2tensor/prepare/train.de

# English-French has two corpora more. With another pair in the same folder all is made anew.
mkdir french
for name in val test; do cp $name.en french/$name.en && cp $name.de french/$name.fr; done
{ sed -n 5p test.en && echo 'The man said: "It is a well-known test," and left.'; } > french/text.en
{ sed -n 5p test.de && printf 'L’homme a dit : « C’est un test bien-aimé » à 1\302\240000 gens.\n'; } > french/text.fr
"$mirror" --pair en-fr archives-fr 5400 french/text french/val french/test > mirror.log || fail "archives with French"
french() { # FOLDER OPTION...
  "$wmt14" "$1" --pair en-fr --mirror "file://$PWD/archives-fr" --digests archives-fr/SHA256SUMS --vocab-size 300 \
    --average last3 "${@:2}" "${tiny[@]}" > run.log 2>&1 || { tail -n 30 run.log; fail "English-French: $*"; }
}
french whole-fr --preparation fairseq
check_bundle whole-fr fr "sacreBLEU,multi-bleu BLEU,multi-bleu BLEU,chrF2++,TER"
check "the protocol knows French" grep -q '^multi-bleu BLEU|.*|tok:moses-fr|' whole-fr/bundle/scores/newstest2014.txt
check "the overlap in five corpora" grep -q '"excluded":5\b' whole-fr/bundle/data/clean.json
same "every 1,333rd pair of 5,405" "$(wc -l < whole-fr/prepare/valid.fr)" 4
same "pairs of all corpora" "$(wc -l < whole-fr/prepare/train.fr)" 5401
check "French rules" grep -qF 'L&apos; homme a dit : &quot; C&apos; est un test bien @-@ aimé &quot; à 1,000 gens .' whole-fr/prepare/train.fr
check "French text" test -s whole-fr/translate/newstest2013.fr
french whole-fr --preparation tensor2tensor --stages "fetch prepare"
check "raw French" grep -q '^L’homme a dit : « C’est un test bien-aimé »' whole-fr/prepare/train.fr
mkdir both
cp -r fetch .stages both
french both --stages fetch
check "the pair has changed" grep -q '^== fetch: redone, because of changes in: digests pair' run.log

# Nothing is done twice, and a changed option redoes what depends on it.
run whole-fairseq fairseq > run.log 2>&1
same "stages that were done before" "$(grep -c 'done before' run.log)" 8
run whole-fairseq fairseq --average last2 > run.log 2>&1
check "the reason" grep -q '^== average: redone, because of changes in: average$' run.log
same "stages after a change" "$(sed -n 's/^== \([a-z]*\): started.*/\1/p' run.log | paste -sd' ')" "average translate score"
run whole-fairseq fairseq > run.log 2>&1
run whole-tensor2tensor tensor2tensor --average ema > run.log 2>&1
check "a run of another model is kept" test -e whole-tensor2tensor/train-1/metrics.jsonl
same "the moving average" "$(cat whole-tensor2tensor/average/checkpoint)" last
run whole-tensor2tensor tensor2tensor --average ema --from train --stages train > run.log 2>&1
check "a run that is redone is kept" test -e whole-tensor2tensor/train-2/metrics.jsonl
run whole-tensor2tensor tensor2tensor --average ema > run.log 2>&1
same "the next call scores the new run" "$(sed -n 's/^== \([a-z]*\): started.*/\1/p' run.log | paste -sd' ')" "average translate score"
(cd whole-tensor2tensor && "$GYRE" train nmt --config train/train.toml --after 26u --quiet)
run whole-tensor2tensor tensor2tensor --average ema --skip train > run.log 2>&1
check "a run that was continued elsewhere is scored" grep -q '^== average: redone, because of changes in: checkpoint$' run.log
check "it is trained" grep -q '^ema = 0.999$' whole-tensor2tensor/train/train.toml

# A call that is killed while it discards a stage does not pass its files off as those of the next call.
cp -r whole-fairseq discarded
: > discarded/.stages/score.usage # as after a crash of the machine
mkdir stub
printf '#!/bin/sh\ncase "$*" in *removed*) [ ! -e .stages/removed ] || kill -KILL $PPID ;; esac\nexec %s "$@"\n' "$(command -v rm)" > stub/rm
chmod +x stub/rm
merges() { run discarded fairseq --vocab-size 250 --stages vocab > run.log 2>&1; }
(PATH=$PWD/stub:$PATH merges) 2> /dev/null && fail "the call should have been killed"
merges || { tail run.log; fail "the call after the one that was killed while discarding"; }
same "merges" "$(grep -c '^[^#]' discarded/vocab/joint/codes)" 250

# Calls that are killed in each stage; a later call goes on where the earlier one ended. The program waits before it
# begins, and a server stalls, so that no stage ends before it is killed.
printf '#!/bin/sh\nsleep 1\nexec "%s" "$@"\n' "$GYRE" > slow_gyre
chmod +x slow_gyre
killed=killed-fairseq
for stage in $stages; do
  setsid bash -c 'exec "$@"' run env GYRE="$PWD/slow_gyre" "$wmt14" $killed --mirror "$server/slow" "${served[@]}" --preparation fairseq --vocab-size 300 \
    --average last3 "${tiny[@]}" > kill.log 2>&1 &
  group=$!
  for _ in $(seq 2400); do
    if grep -q "^== $stage: started" kill.log || ! kill -0 $group 2> /dev/null; then break; fi
    sleep 0.05
  done
  sleep 0.2
  # Alternately the whole group, and the script alone, whose children then end before the next call begins.
  if [ $((${#stage} % 2)) -eq 0 ]; then kill -KILL -- -$group || true; else kill -KILL $group || true; fi 2> /dev/null
  status=0
  wait $group 2> /dev/null || status=$?
  same "$stage is killed" "$status $(sed -n 's/^== \([a-z]*\): started.*/\1/p' kill.log | tail -n 1)" "137 $stage"
done
run $killed fairseq > run.log 2>&1 || { tail -n 30 run.log; fail "the call after all that were killed"; }
check_bundle $killed de "sacreBLEU,multi-bleu BLEU,compound-split BLEU,multi-bleu BLEU,chrF2++,TER"
rm -rf whole-fairseq/bundle/measured $killed/bundle/measured
check "the same bundle after all kills" diff -r whole-fairseq/bundle $killed/bundle
