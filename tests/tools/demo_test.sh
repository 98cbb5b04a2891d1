#!/usr/bin/env bash
# Tests tools/scripts/demo.sh with a few updates, in a directory whose name has a space, and every command that it prints
# to try next.
. "$(dirname "$0")/lib.sh"
command -v gnuplot > /dev/null || skip_test demo "gnuplot is not installed"

mkdir "the demo"
echo "The file of an earlier demo." > "the demo/train.en"
"$ROOT/tools/scripts/demo.sh" "$GYRE" "the demo" --after 4u --lr-warmup 1 > out.txt 2> err.txt ||
  { cat err.txt >&2; fail "the demo"; }
check "the score" contains '^exact match = [0-9.]+ % of 500 lines$' < out.txt
check "a line of progress" contains ': Up\. [0-9]+ : .* : Cost ' < err.txt

sed -n '/^== what to try next$/,$s/^    //p' out.txt | sed 's/--after 1600u/--after 6u/' > commands.txt
same "commands to try next" "$(wc -l < commands.txt)" 8
while IFS= read -r line; do
  eval "$line" > out.txt 2> err.txt < /dev/null || { cat err.txt >&2; fail "$line"; }
  echo "ok: $line"
done < commands.txt
for file in curve.png attention.png step.html report.html positions.png; do check "$file" test -s "the demo/$file"; done
for run in run alibi ranks; do check "$run" test -e "the demo/$run/checkpoints/last"; done

# What try_image.sh runs in an image after the demo, with the warm-up of the demo's recipe.
ln -s "the demo" demo
sed -i "s/^lr-warmup = .*/$(grep '^lr-warmup' "$ROOT/tools/recipes/demo.toml")/" demo/run/train.toml
mkdir bin && ln -s "$GYRE" bin/gyre
sed -n '/^.scripts.mpirun/,/^INSIDE$/p' "$ROOT/tools/scripts/try_image.sh" | sed '$d' > inside.sh
same "commands in the image" "$(wc -l < inside.sh)" 2
PATH=$PWD/bin:$PATH scripts=$ROOT/tools/scripts bash -euo pipefail inside.sh > out.txt 2> err.txt || { cat err.txt >&2; fail "the commands in the image"; }
check "the checkpoint of the two ranks" grep -q '60' out.txt
