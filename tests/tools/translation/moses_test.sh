#!/usr/bin/env bash
# Tests `gyre data tokenize`, `detokenize` and `normalize` from outside. Their results are compared with sacremoses in
# tests/data/text/moses.
. "$(dirname "$0")/../lib.sh"
tokenize() { "$GYRE" data tokenize --language en "$@" 2> log; }
one() { printf '%s\n' "$1" | "${@:2}"; } # one LINE COMMAND...

same "tokens" "$(one "It's a well-known \"fact\", Dr. Who." tokenize)" \
  "It &apos;s a well-known &quot; fact &quot; , Dr. Who ."
check "the speed" contains 'MB per minute and thread' < log
same "no entities" "$(one "It's [so]." tokenize --no-escape)" "It 's [ so ] ."
same "hyphens" "$(one "well-known" tokenize --aggressive-hyphens)" "well @-@ known"
same "German" "$(one "z.B. Herr O'Hara usw. am 3. Mai." "$GYRE" data tokenize -l de 2> log)" \
  "z.B. Herr O &apos; Hara usw. am 3. Mai ."
same "French" "$(one "L'homme d'ici n'a-t-il pas dit : « M. X, p. 5 ? »" "$GYRE" data tokenize -l fr 2> log)" \
  "L&apos; homme d&apos; ici n&apos; a-t-il pas dit : « M. X , p. 5 ? »"
same "French text" "$(one "L&apos; homme dit : quoi ?" "$GYRE" data detokenize -l fr 2> log)" "L'homme dit : quoi ?"
same "Czech text" "$(one "„ Ano “ , roku 1973 a 1980 ." "$GYRE" data detokenize -l cs 2> log)" "„Ano“, roku 1973 a 1980."
rejects 2 'expected one of en, de, fr, es, it, cs, ru; got .pl.' "$GYRE" data tokenize -l pl
same "text" "$(one 'It &apos;s a well @-@ known &quot; fact &quot; .' "$GYRE" data detokenize -l en 2> log)" \
  "It's a well-known \"fact\"."
normalize() { "$GYRE" data normalize --language "$@" 2> log; }
same "English punctuation" "$(one '„Yes”, he said’ — 5 %' normalize en)" "\"Yes,\" he said' - 5%"
same "German punctuation" "$(one '„Ja,“ sagte er’' normalize de)" "\"Ja\", sagte er'"
same "quotes of the Perl script" "$(one 'he said’' normalize en --perl-quotes)" 'he said"'
same "unprintable characters" "$(printf 'a\302\255b\001\n' | normalize en --remove-non-printing)" "a b "

printf '„Well-known“, 5 %%\302\255x\nsecond’ line' > in
normalize en --remove-non-printing --input in | tokenize --aggressive-hyphens > steps
tokenize -a --normalize-punctuation --remove-non-printing --input in --output out
check "one pass equals the steps of prepare-wmt14en2de.sh" cmp steps out
same "lines" "$(cat out)" "&quot; Well @-@ known , &quot; 5 % x
second &apos; line"
tokenize -a --normalize-punctuation --remove-non-printing --perl-quotes < in > out
same "with the quotes of Perl" "$(tail -n 1 out)" "second &quot; line"

"$GYRE" data generate --output . --train 9000 --val 1 --test 1
tokenize --input train.en --cpu-threads 1 --output one
tokenize --input train.en --cpu-threads 3 --output three
check "the output is the same for any number of threads" cmp one three
same "all lines" "$(wc -l < three)" 9000
"$GYRE" data detokenize -l en < one 2> log > text
check "the corpus returns" cmp text train.en

tokenize < /dev/null > out
check "empty text" test ! -s out
printf '\n \n\r\n' | tokenize > out
same "empty lines" "$(tr '\n' '$' < out)" '$$$'
printf 'a.\r\nb\0c' | tokenize > out
same "CRLF, NUL and no line end" "$(cat out)" "a .
bc"
head -c 3000000 /dev/zero | tr '\0' ',' | tokenize > out
same "a long line" "$(wc -c < out)" 6000000
printf 'a\nb\377\n' > bad
rejects 1 'bad:2: not UTF-8 from byte 2 on' "$GYRE" data tokenize -l en -i bad -o out --on-bad-line error
same "a line that is not UTF-8" "$("$GYRE" data tokenize -l en -i bad 2> log | tr '\n' '$')" 'a$$'
check "it is reported" contains '^bad: 1 line, skipped 1 with invalid UTF-8 \(line 2\)$' < log
rejects 1 'missing: cannot be opened' "$GYRE" data normalize -l en -i missing
rejects 2 'bad' "$GYRE" data detokenize -l en -i bad -o bad
same "the input is kept" "$(wc -c < bad)" 5
