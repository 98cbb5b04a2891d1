# Shared by the scripts that run the program from outside: lib.sh is sourced with GYRE (the program) and ROOT (the sources) set.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

check() { # check WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  "$@" || fail "$what"
  echo "ok: $what"
}

same() { # same WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: expected '$3', got '$2'"
  echo "ok: $1"
}

# For the list that tools/scripts/run_tests.sh prints: a part of the test cannot run here (skipped PART REASON), or all of
# it (skip_test REASON, which ends it).
skipped() { printf 'skipped'; printf ': %s' "$@"; echo; }
skip_test() {
  skipped "$@"
  exit 77
}

# Reads all of its input, unlike grep -q: a writer cut off early would fail under pipefail.
contains() { grep -E -- "$1" > matches.txt; }

# rejects STATUS PATTERN COMMAND...: ends with the status, and the last line of stderr matches. $lines holds their number.
rejects() {
  local status=$1 pattern=$2 got=0
  shift 2
  "$@" > stdout.txt 2> stderr.txt < /dev/null || got=$?
  lines=$(wc -l < stderr.txt)
  [ "$got" -eq "$status" ] || { cat stderr.txt >&2; fail "status $got instead of $status: $*"; }
  tail -n 1 stderr.txt | grep -qE -- "$pattern" || { cat stderr.txt >&2; fail "no line like /$pattern/: $*"; }
  echo "ok: $(tail -n 1 stderr.txt)"
}

# A small corpus and its vocabulary, in the working directory.
small_corpus() {
  "$GYRE" data generate --output . --train 400 --val 20 --test 20
  "$GYRE" vocab --input train.en train.de --type bpe --size 300 --output vocab.model 2> vocab.log
}

# A model that trains in seconds on $sets; further options follow.
sets="train.en train.de"
small_train() {
  "$GYRE" train nmt --train-sets $sets --vocab vocab.model --dim-emb 16 --transformer-dim-ffn 32 \
    --transformer-heads 2 --enc-depth 1 --dec-depth 1 --mini-batch-words 400 --cpu-threads 1 "$@"
}
