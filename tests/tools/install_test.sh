#!/usr/bin/env bash
# Tests that other projects can use an installed Gyre: builds the examples against it in an empty folder. CXX and
# CXXFLAGS are those of this build.
. "$(dirname "$0")/lib.sh"

cmake --install "$BUILD" --prefix "$work/prefix" > install.log 2>&1 \
  || { tail -n 20 install.log >&2; fail "cmake --install"; }
prefix=$work/prefix
same "the installed program" "$("$prefix/bin/gyre" --version)" "$("$GYRE" --version)"
check "completion and a man page" test -s "$prefix/share/bash-completion/completions/gyre" -a \
  -s "$prefix/share/zsh/site-functions/_gyre" -a -s "$prefix/share/man/man1/gyre.1"
check "the headers of the libraries" \
  test -f "$prefix/include/gyre/autograd/tape.h" -a -f "$prefix/include/gyre/train/optim/optimizer.h"
check "except the private headers of the kernels" test ! -e "$prefix/include/gyre/core/cpu"
check "the library carries a set of kernels per instruction set" \
  test "$(ar t "$(find "$prefix" -name libgyre_core.a)" | grep -c '^gyre_cpu_v[34].o$')" = 2

# Move the folder first, because nothing may depend on the install path or on the sources.
mv prefix moved
cp -r "$ROOT/tools/examples" .
configure() { cmake -S "examples/$1" -B "$2" -DCMAKE_PREFIX_PATH="$work/moved" "${@:3}"; }
build() {
  { configure "$1" "$1" -DCMAKE_BUILD_TYPE=Release && cmake --build "$1"; } > "$1.log" 2>&1 \
    || { tail -n 40 "$1.log" >&2; fail "building the example $1"; }
  echo "ok: built the example $1"
}
build xor
build mlp
build custom_op
build char_lm
build ddp
sed -i 's/find_package(gyre /find_package(gyre 99 /' examples/custom_op/CMakeLists.txt
! configure custom_op other > other.log 2>&1 || fail "another version was accepted"
check "another version is rejected" grep -q 'requested version "99"' other.log

xor/xor > xor.txt
check "the network of the README learns exclusive or" awk 'END { exit !($1 == "update" && $2 == 90 && $4 < 0.05) }' xor.txt
mlp/mlp > mlp.txt
check "a network of elementary ops learns a spiral" awk '$1 == "update" { share = $6 } END { exit !(share > 0.97) }' mlp.txt
check "the gradients of new ops" custom_op/custom_op
custom_op/custom_op --wrong > wrong.txt && fail "a wrong gradient passed"
check "a wrong gradient is caught" grep -qE '^rms_norm dx: worst error ([1-9]|0\.[0-9]*[1-9])' wrong.txt

# "Add your own op" of tools/docs/autodiff.md, in an empty folder: its files are blocks of code with their names.
mkdir unit_rows
lesson_file() { awk -v fence="^\`\`\`[a-z]+ $1\$" '/^```/ { on = $0 ~ fence; next } on' "$ROOT/tools/docs/autodiff.md" > "unit_rows/$1"; }
for file in CMakeLists.txt composed.h unit_rows.h check.cpp; do lesson_file $file; done
lesson() {
  { cmake -S unit_rows -B unit_rows/build -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release && cmake --build unit_rows/build; } \
    > lesson.log 2>&1 || { tail -n 40 lesson.log >&2; fail "building the op of the lesson"; }
  unit_rows/build/check > lesson.txt
}
check "the gradient of the lesson's op" lesson
check "it passes" grep -q '^passed: worst error [0-9.]*e-' lesson.txt
cp unit_rows/unit_rows.h right.h
for part in 's/ - y(i, j) \* dot//' 's/ \/ lengths.span<T>()\[i\]//' 's/out(i, j) = (dy(i, j)/out(i, j) = 0 * (dy(i, j)/'; do
  sed "$part" right.h > unit_rows/unit_rows.h
  cmp -s right.h unit_rows/unit_rows.h && fail "$part changes nothing"
  lesson && fail "the lesson's op passes with a wrong gradient: $part"
  check "a wrong gradient is found: $part" grep -q '^WRONG: worst error ' lesson.txt
done

export GOMP_SPINCOUNT=1000 KMP_BLOCKTIME=20us # see tools/main.cpp
custom_op/train_block 400 > block.txt
error() { grep "^update *$1 " block.txt | awk '{ print $5 }'; }
check "a layer of new ops learns: $(error 1) to $(error 400)" awk "BEGIN { exit !($(error 1) > 1 && $(error 400) < 0.2) }"

# Data parallelism with a loop of one's own.
if grep -q '^MPI: none' <("$GYRE" --build-info); then
  skipped "the example ddp on two ranks" "Gyre was built without MPI"
  on() { ddp/ddp "${@:2}"; }
else
  on() { "$ROOT/tools/scripts/mpirun.sh" -n "$1" ddp/ddp "${@:2}"; }
fi
on 2 through 400 > through.txt
on 2 resumed 200 > first.txt
on 2 resumed 400 > second.txt
same "a resumed run prints what one without a break prints" "$(cat first.txt second.txt)" "$(cat through.txt)"
check "and has the same weights" cmp {through,resumed}/checkpoints/step-00000400/model.safetensors
on 1 alone 400 > alone.txt
check "two ranks have the loss of one: $(tail -n 1 through.txt)" awk '{ loss[FILENAME] = $4 }
  END { a = loss["alone.txt"]; b = loss["through.txt"]; exit !(a > 0 && a < 0.3 && (a - b) ^ 2 < 1e-8) }' alone.txt through.txt
rejects 1 '^(gyre|ddp): .*first.txt: Not a directory$' on 2 first.txt 400

char_lm/char_lm 300 > char_lm.txt
loss() { grep "^update *$1 " char_lm.txt | awk '{ print $4 }'; }
check "the loss falls from $(loss 1) to $(loss 300)" awk "BEGIN { exit !($(loss 1) > 3.5 && $(loss 300) < 1.5) }"
tail -n 8 char_lm.txt
# Most of the generated words occur in the training text.
"$GYRE" data generate --output . --train 5000 --val 1 --test 1
words() { tr -cs 'A-Za-z' '\n' | sort; }
words < train.en | uniq > known.txt
sed '1,/^$/d' char_lm.txt | words | grep . > written.txt
known=$(grep -cxFf known.txt written.txt)
check "$known of $(wc -l < written.txt) words are right" test "$((known * 4))" -ge "$(($(wc -l < written.txt) * 3))"
