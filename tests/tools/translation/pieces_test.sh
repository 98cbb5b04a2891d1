#!/usr/bin/env bash
# Tests from outside that gyre encode shows the pieces of text with every kind of vocabulary, that gyre decode restores
# the text, and that gyre vocab learns the merges of subword-nmt.
. "$(dirname "$0")/../lib.sh"
encode() { "$GYRE" encode "$@"; }
decode() { "$GYRE" decode "$@"; }

from_corpus train.{en,de}
for type in unigram bpe char word; do
  size=200
  [ $type != word ] || size=5000
  "$GYRE" vocab --type $type --size $size --character-coverage 1 --input train.en train.de --output $type.vocab 2> vocab.log
done
"$GYRE" vocab --type wordpiece --cased --size 300 --input train.en train.de --output vocab.txt 2> vocab.log
mv vocab.txt wordpiece.vocab
"$GYRE" vocab --type bytes --output bytes.vocab 2> vocab.log
"$GYRE" vocab --type subword-nmt --merges 150 --input train.en train.de --codes-output codes --output subword-nmt.vocab 2> vocab.log
check "the size of a learned vocabulary" grep -qE '^subword-nmt.vocab: [0-9]+ pieces \(subword-nmt\)$' vocab.log
"$GYRE" vocab --type subword-nmt --merges 150 --input train.en train.de --cpu-threads 3 --output three.vocab 2> vocab.log
check "it does not depend on the number of threads" cmp subword-nmt.vocab three.vocab
same "a codes file" "$(head -n 1 codes) $(wc -l < codes)" "#version: 0.2 151"
tr -s ' ' '\n' < train.en | sort | uniq -c | awk '{ print $2, $1 }' > dictionary
"$GYRE" vocab --type words --dictionary dictionary --output words.vocab 2> vocab.log
"$GYRE" vocab --type subword-nmt --codes codes --dictionary dictionary --output given.vocab 2> vocab.log
rejects 2 '--cpu-threads would have no effect: --codes is learned already' \
  "$GYRE" vocab --type subword-nmt --codes codes --dictionary dictionary --cpu-threads 2 --output new

for vocabulary in *.vocab; do
  encode --vocab $vocabulary --input train.en --output pieces
  encode --vocab $vocabulary --ids < train.en > ids
  same "$vocabulary: lines" "$(wc -l < pieces) $(wc -l < ids)" "400 400"
  same "$vocabulary: as many pieces as ids" "$(wc -w < pieces)" "$(wc -w < ids)"
  decode --vocab $vocabulary < pieces > text
  decode --vocab $vocabulary --ids --input ids --output text.ids
  check "$vocabulary: both forms decode alike" cmp text text.ids
  encode --vocab $vocabulary --input train.en --cpu-threads 3 > three
  check "$vocabulary: three threads" cmp pieces three
  case $vocabulary in
    wordpiece.vocab) tr -d ' ' < text > got && tr -d ' ' < train.en > wanted ;; # decoding puts spaces around punctuation
    three.vocab | given.vocab) continue ;;
    *) cp text got && cp train.en wanted ;;
  esac
  check "$vocabulary: decoding restores the text" cmp got wanted
done

# Odd lines: empty ones, CRLF, no line end at the end, spaces, a NUL, characters that are not in the vocabulary.
printf '\n  a  b \r\n\n\0\t\xe4\xb8\xad' > odd
same "lines of bytes" "$(encode --vocab bytes.vocab < odd | tr '\n' '|')" \
  '|<0x20> <0x20> <0x61> <0x20> <0x20> <0x62> <0x20>||<0x00> <0x09> <0xE4> <0xB8> <0xAD>|'
printf '\n  a  b \n\n\0\t\xe4\xb8\xad\n' > clean
encode --vocab bytes.vocab < odd | decode --vocab bytes.vocab > restored
check "bytes restore everything except the line ends" cmp restored clean
same "characters that are not in the vocabulary" "$(encode --vocab words.vocab < odd | tr '\n' '|')" "|a <unk>||<unk>|"
same "no lines" "$(encode --vocab bpe.vocab < /dev/null | wc -c)" 0
rejects 1 "standard input: reading failed" bash -c '"$0" encode --vocab bpe.vocab < .' "$GYRE"
printf '<0x61> <s> <0x0A> <0x62> </s>\n' | decode --vocab bytes.vocab > restored
same "a line break in a piece becomes a space" "$(cat restored)" "a b"
printf '100\n13 16 101\n102\n' | decode --vocab bytes.vocab --ids > restored
same "ids of line breaks" "$(tr '\n' '|' < restored)" "a|  b|c|"
printf '\xef\xbb\xbfa\r\n\xef\xbb\xbfb\n' > marked
same "a byte order mark at the beginning is no text" "$(encode --vocab bytes.vocab < marked | tr '\n' '|')" \
  '<0x61>|<0xEF> <0xBB> <0xBF> <0x62>|'
check "nor in a file" cmp <(encode --vocab bytes.vocab --input marked) <(encode --vocab bytes.vocab < marked)
printf '<0x61>\n<0x61> b\n' > wrong
rejects 1 '^gyre: wrong:2: unknown piece "b"$' decode --vocab bytes.vocab --input wrong --output new
[ ! -e new ] || fail "an output remains after an error"
printf '3 4\n5 259\n' > wrong
rejects 1 '^gyre: wrong:2: expected ids from 0 to 258, got "259"$' decode --vocab bytes.vocab --ids --input wrong
