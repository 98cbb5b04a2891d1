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
