#!/usr/bin/env bash
# Makes the data of the experiments on English books, unless it exists already: OUTPUT/vocab.txt, a WordPiece vocabulary,
# and OUTPUT/text.tok, a token store.
#   tools/experiments/books_data.sh TEXT OUTPUT [PIECES]
# TEXT: documents separated by blank lines. PIECES: the size of the vocabulary, 8000 by default.
set -euo pipefail
if [ $# -lt 2 ]; then
  sed -n '4,5s/^# *//p' "$0" >&2
  exit 2
fi
text=$1
output=$2
gyre=${GYRE:-build/gyre}
mkdir -p "$output"
if [ ! -e "$output/vocab.txt" ]; then
  "$gyre" vocab --input "$text" --type wordpiece --size "${3:-8000}" --output "$output/vocab.txt"
fi
if [ ! -e "$output/text.tok" ]; then
  "$gyre" data build --vocab "$output/vocab.txt" --source "$text" --documents blank-line --output "$output/text.tok"
fi
