# Functions for the scripts that test the program from outside. Source it with GYRE (the program) and ROOT (the sources)
# set.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1
# Otherwise every start of gyre would set them and start itself again (tools/main.cpp).
export GOMP_SPINCOUNT=1000 KMP_BLOCKTIME=20us

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

check() { # check NAME COMMAND...: fails unless the command succeeds
  local what=$1
  shift
  "$@" || fail "$what"
  echo "ok: $what"
}

same() { # same NAME GOT WANTED: fails unless both strings are equal
  [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"
  echo "ok: $1"
}

picture() { # picture WHAT FILE.svg
  grep -q '<svg' "$2" || fail "$1: $2 is not a picture"
  echo "ok: $1"
}

# near FILE FILE: whether two columns of numbers differ by at most 1e-4
near() { paste "$1" "$2" | awk 'NF != 2 || ($1 - $2) ^ 2 > 1e-8 { bad = 1 } END { exit bad || NR == 0 }'; }

mpirun() { "$ROOT/tools/scripts/mpirun.sh" "$@"; }

# Report skipped tests to tools/scripts/run_tests.sh: `skipped PART REASON` for a part of the test, `skip_test REASON`
# for the whole test, which it ends.
skipped() { printf 'skipped'; printf ': %s' "$@"; echo; }
skip_test() {
  skipped "$@"
  exit 77
}

# parts FUNCTION...: runs the functions, each in a process of its own, so that one that fails does not hide the others.
parts() {
  local part failed=''
  for part in "$@"; do
    set +e # bash would ignore it within `||`
    (
      set -e
      "$part"
    )
    [ $? -eq 0 ] || failed+=" $part"
    set -e
  done
  [ -z "$failed" ] || fail "parts:$failed"
}

# Matches standard input. Unlike grep -q it reads all input, because a writer that is cut off would fail under pipefail.
contains() { grep -E -- "$1" > matches.txt; }

# rejects STATUS PATTERN COMMAND...: the command must exit with the status, and the last line of stderr must match. Sets
# $lines to the number of lines.
rejects() {
  local status=$1 pattern=$2 got=0
  shift 2
  "$@" > stdout.txt 2> stderr.txt < /dev/null || got=$?
  lines=$(wc -l < stderr.txt)
  [ "$got" -eq "$status" ] || { cat stderr.txt >&2; fail "status $got instead of $status: $*"; }
  tail -n 1 stderr.txt | grep -qE -- "$pattern" || { cat stderr.txt >&2; fail "no line like /$pattern/: $*"; }
  echo "ok: $(tail -n 1 stderr.txt)"
}

# Prints the lines of a file as documents: a blank line after every tenth sentence ends a document.
as_documents() { awk '{ print } NR % 10 == 0 { print "" }' "$1"; }

# Makes a small corpus in the working directory: pairs, a vocabulary of both languages, their token store, and half of
# the English side as documents, with their vocabulary and token store; and the vocabulary of bytes.
make_corpus() {
  "$GYRE" data generate --output . --overwrite --train 400 --val 40 --test 20 &&
    "$GYRE" vocab --input train.en train.de --type bpe --size 300 --output vocab.model &&
    "$GYRE" data build --vocab vocab.model --source train.en --target train.de --output train.tok &&
    "$GYRE" vocab --type bytes --output bytes.model &&
    head -n 200 train.en > half.en &&
    as_documents half.en > books.txt &&
    "$GYRE" vocab --input books.txt --type wordpiece --size 300 --output vocab.txt &&
    "$GYRE" data build --vocab vocab.txt --source books.txt --documents blank-line --output books.tok
}

# from_corpus FILE...: copies files of the corpus to the working directory. Scripts share the corpus, which one of them
# makes beside the program, and anew if the program or this file changed since.
from_corpus() {
  local made
  made=$(dirname "$GYRE")/test_corpus
  mkdir -p "$made"
  (
    flock 9
    if [ ! "$made/complete" -nt "$GYRE" ] || [ ! "$made/complete" -nt "$ROOT/tests/tools/lib.sh" ]; then
      cd "$made"
      make_corpus > corpus.log 2>&1 || { cat corpus.log >&2; fail "the corpus of the tests"; }
      touch complete
    fi
  ) 9> "$made/lock"
  cp "${@/#/$made/}" .
}
small_corpus() { from_corpus {train,val,test}.{en,de} vocab.model; }
small_books() { from_corpus {train,val,test}.en books.txt vocab.txt books.tok; }

# Trains a model on $sets in seconds. Takes further options.
sets="train.en train.de"
small_train() {
  "$GYRE" train nmt --train-sets $sets --vocab vocab.model --dim-emb 16 --transformer-dim-ffn 32 \
    --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 400 --cpu-threads 1 "$@"
}
