#!/usr/bin/env bash
# Staged pretraining from outside: [[stage]] tables, a run that is killed ten times, the plan, the table.
. "$(dirname "$0")/lib.sh"

from_corpus train.en books.txt vocab.txt
cat > plain.toml <<'END'
layers = 1
dim-emb = 32
transformer-dim-ffn = 32
max-length = 24
mini-batch = 4
valid-share = 0.1
cpu-threads = 1
quiet = true
disp-freq = 1
valid-freq = 7
save-freq = 3
END
cat > stages.toml <<'END'
# Options after a table belong to it.
[[stage]]
updates = 30
[[stage]]
updates = "30u"
max-length = 40       # longer samples
mini-batch-words = 90
batch-unit = "total"
learn-rate = 1e-4

[[stage]]
updates = 40
lr-warmup = "20%"
END
cat plain.toml stages.toml > run.toml
train() { "$GYRE" train mlm --config run.toml --train-sets books.txt --vocab vocab.txt "$@"; }

train --model straight/
tail -n 1 straight/metrics.jsonl | contains '"event":"end","updates":100' || fail "the stages end the run"
same "the stages in the log" "$(grep -c '\[stage\] [123] of 3' straight/train.log)" 3
tables='\[\[stage\]\]'
same "the stages in train.toml" "$(grep -c "^$tables" straight/train.toml)" 3
check "a stage of train.toml has what was given" contains '^learn-rate = 1e-04|^learn-rate = 0.0001' < <(sed -n "/^$tables/,\$p" straight/train.toml)

# Killed ten times, at random phases of random updates and while it saves at the ends of two stages, it ends with the same
# bits.
phases=(data forward backward reduction optimizer)
kill_at() { # kill_at UPDATE POINT
  local status=0
  (export GYRE_FAULT="0 $1 $2 kill" && train --model killed/) > killed.log 2>&1 || status=$?
  same "the status of a run that is killed in $2 of update $1" "$status" 137
}
for decade in 0 1 2 3 4 5 6 7 8 9; do
  update=$((10 * decade + RANDOM % 10 + 1))
  case $decade in
    2) kill_at 30 renamed ;;
    6) kill_at 60 written ;;
    *) kill_at "$update" "${phases[RANDOM % ${#phases[@]}]}" ;;
  esac
done
"$GYRE" train mlm --model killed/
for file in model optimizer; do
  check "the $file after ten kills" cmp {straight,killed}/checkpoints/last/$file.safetensors
done
table() { "$GYRE" inspect stages --model "$1"; }
# Prints the entries of stages without times: those that no later resume event drops.
stage_entries() {
  awk '{ match($0, /"updates":[0-9]+/); updates = substr($0, RSTART + 10, RLENGTH - 10) + 0 }
    /"event":"resume"/ { for (i = 1; i <= n; ++i) if (at[i] > updates) line[i] = "" }
    /"event":"stage"/ { line[++n] = $0; at[n] = updates }
    END { for (i = 1; i <= n; ++i) if (line[i] != "") print line[i] }' "$1/metrics.jsonl" |
    sed -E 's/"time":"[^"]*",//; s/,"seconds":[0-9.e+-]+//'
}
same "the entries of stages after ten kills" "$(stage_entries killed/)" "$(stage_entries straight/)"
same "the table of stages after ten kills" "$(table killed/)" "$(table straight/)"
table straight/ | contains '^\| 2 \| 40 \| 90 tokens \| 30 \| .* \| [0-9.]+ \| [0-9.]+ % \|$' || fail "the row of a stage: $(table straight/)"
"$GYRE" inspect stages --model straight/ --json | contains '"stage":3,"begin":60,"updates":40,"of_updates":40,"max_length":24,' || fail "the table as JSON"

# A stage that has ended cannot be made longer, and none can end before the updates of the run.
change() { # UPDATES OF EACH STAGE: changes the run changed/, a copy of the finished one
  rm -rf changed && cp -r straight changed
  awk -v updates="$*" 'BEGIN { split(updates, of) } /^\[\[stage/ { n++ } n && /^updates/ { $0 = "updates = " of[n] } { print }' \
    straight/train.toml > changed/train.toml
}
change 40 30 40
rejects 1 'stage from update 0, end 30 -> 40' "$GYRE" train mlm --model changed/
change 30 30 50
rejects 1 'stage from update 60, end 100 -> 110' "$GYRE" train mlm --model changed/
change 30 30 20
rejects 1 'stage from update 60, end 100 -> 80' "$GYRE" train mlm --model changed/
(export GYRE_FAULT="0 75 forward kill" && train --model changed/ --overwrite --save-freq 5) > killed.log 2>&1 || true
sed -i 's/^updates = 40/updates = 2/' changed/train.toml
rejects 2 'stages\] expected at least the (65|70) updates of the run so far, got 62' "$GYRE" train mlm --model changed/

# A stage can be added to a finished run.
cp -r straight longer
printf '\n[[stage]]\nupdates = 2\nmax-length = 8\n' >> longer/train.toml
"$GYRE" train mlm --model longer/
tail -n 1 longer/metrics.jsonl | contains '"event":"end","updates":102' || fail "the stage that was added"

# A run from other weights warms up for a tenth of the updates of all stages.
"$GYRE" train mlm --init-from straight/ --config stages.toml --train-sets books.txt --layers 1 --mini-batch 4 --max-length 24 \
  --lr-schedule linear --cpu-threads 1 --quiet --model tuned/
same "the warm-up of a run from other weights" "$(sed -n 's/^lr-warmup = //p' tuned/train.toml | sed -n 1p)" '"10%"'
"$GYRE" train mlm --model tuned/ --quiet
# Stages with the schedule of the run have one warm-up, also around a stage with its own.
printf '[[stage]]\nupdates = 4\n[[stage]]\nupdates = 4\nlr-schedule = "inverse-sqrt"\nlr-warmup = 6\n[[stage]]\nupdates = 4\n' > around.toml
"$GYRE" train mlm --config plain.toml around.toml --train-sets books.txt --vocab vocab.txt --lr-warmup 10 --model around/ 2> around.log
same "one warning" "$(grep -c 'within a warm-up' around/train.log)" 1
check "of the stage with a schedule of its own" grep -q 'training ends after 4 updates, within a warm-up of 6:' around/train.log

# The plan adds the stages up.
plan() { "$GYRE" plan mlm --config run.toml --vocab vocab.txt --ranks 1,2 --gflops 10 --memory-gb 5 "$@"; }
plan --json > plan.json
rejects 2 'stage 2: max-length\] expected at most 30, the number of positions of the model' \
  plan --position learned --max-positions 30
check "the plan has the updates of all stages" contains '"run":\{"updates":100,' < plan.json
same "the stages of the plan" "$(grep -o '"stage":"[123] of 3"' plan.json | wc -l)" 3
plan | contains '^the whole run: 100 updates' || fail "the plan as text"
"$GYRE" plan mlm --config "$ROOT/tools/recipes/roformer-chinese-base.toml" --vocab-size 50000 --device h200 --gpus 8 --json > gpu.json
check "the plan of the paper's stages" contains '"run":\{"updates":452500,"rows":\[\{"ranks":8,' < gpu.json

printf 'seed = 1\n[[stage]]\nmax-length = 9\n' > bad.toml
bad() { "$GYRE" train mlm --config bad.toml --train-sets books.txt --vocab vocab.txt --model bad/ "$@"; }
rejects 2 '^gyre: bad.toml:2: \[\[stage\]\]: --updates is missing' bad
printf '[[stage]]\nupdates = 5\nmax-lenth = 9\n' > bad.toml
rejects 2 '^gyre: bad.toml:3: unknown option max-lenth; did you mean max-length' bad
printf '[[stage]]\nupdates = 5e\n' > bad.toml
rejects 2 '^gyre: bad.toml:1: \[\[stage\]\]: --updates: expected a number of updates, got 5e' bad
printf '[[steps]]\nupdates = 5\n' > bad.toml
rejects 2 '^gyre: bad.toml:1: unknown table \[\[steps\]\]; expected \[\[stage\]\]' bad
rejects 2 '^gyre: bad.toml:1: unknown table \[\[steps\]\]$' "$GYRE" train nmt --config bad.toml --train-sets a b --vocab vocab.txt --model bad/
printf '[[stage]]\nupdates = 5\n' > bad.toml
rejects 2 '\[--after\] expected nothing, or the 5 updates of all stages, got 7u' bad --after 7
rejects 1 '\[stages\] plain/metrics.jsonl: expected a run with stages' sh -c '
  "$1" train mlm --config plain.toml --train-sets books.txt --vocab vocab.txt --model plain/ --after 1 && "$1" inspect stages --model plain/' sh "$GYRE"
