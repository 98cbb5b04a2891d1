#!/usr/bin/env bash
# Runs every command of the autodiff tour (tools/docs/autodiff.md).
. "$(dirname "$0")/lib.sh"
mkdir bin && ln -s "$GYRE" bin/gyre
PATH=$PWD/bin:$PATH
command -v dot > /dev/null || skip_test "graphviz is not installed"

tour=$ROOT/tools/docs/autodiff.md
commands=$(sed -nE 's/^    ((GYRE_COMPOSED=[^ ]+ )?(printf|mpirun|gyre) .*)$/\1/p' "$tour")
[ "$(wc -l <<< "$commands")" -ge 19 ] || fail "the tour has fewer commands than it had"
while IFS= read -r line; do
  eval "$line" > out.txt 2> err.txt < /dev/null || { cat err.txt; fail "$line"; }
  [ -s out.txt ] || [[ $line == *--output* || $line == *--svg* ]] || fail "no output from: $line"
  echo "ok: $line"
done <<< "$commands"
for file in layer.svg receptive.svg memory.svg; do check "$file" grep -q '<svg' "$file"; done
for file in trace.json ranks.json; do check "$file" grep -q traceEvents "$file"; done

# The files that the tour names must exist.
for file in $(grep -oE '`(autograd|core|models|train|tools|tests)/[a-z_0-9./]*`' "$tour" | tr -d '`' | sort -u); do
  check "$file" test -e "$ROOT/$file"
done

"${CXX:-c++}" -std=c++20 -o scalar_tape "$ROOT/tools/examples/scalar_tape/main.cpp"
check "the scalar tape's gradients" ./scalar_tape
