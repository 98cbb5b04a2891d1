#!/usr/bin/env bash
# gyre evaluate bleu, chrf, ter and translation: names and signatures, several systems, intervals, paired tests, input.
. "$(dirname "$0")/../lib.sh"

printf '%s\n' 'Er sagte: „Das ist es.“' 'Die E-Mail-Adresse an sich' 'Vier Wörter sind hier' 'Noch ein Satz zum Schluss' > ref.de
printf '%s\n' 'Er sagte: "Das ist es."' 'Die E-Mail-Anschrift an sich' 'Hier sind vier Wörter' 'Noch ein Satz zum Schluss' > a.de
printf '%s\n' 'Er sagt: das ist es' 'Die E-Mail-Adresse an sich' 'Vier Wörter sind hier' '' > b.de
evaluate() { "$GYRE" evaluate "$@"; }
names() { sed -E 's/ = .*//'; }

evaluate bleu --protocol all --reference ref.de --input a.de > all.txt
same "the three protocols have names and signatures" "$(names < all.txt)" \
  'sacreBLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:gyre
multi-bleu BLEU|nrefs:1|case:mixed|eff:no|tok:moses-de|smooth:none|impl:gyre
compound-split BLEU|nrefs:1|case:mixed|eff:no|tok:moses-de|quotes:ascii|split:atat|smooth:none|impl:gyre'
same "protocols one by one" "$(for p in sacrebleu multi-bleu compound-split; do evaluate bleu --protocol $p -r ref.de < a.de; done)" "$(cat all.txt)"
same "a list of protocols" "$(evaluate bleu --protocol multi-bleu,sacrebleu -r ref.de -i a.de)" "$(sed -n 2p all.txt && sed -n 1p all.txt)"
same "another language" "$(evaluate bleu --protocol multi-bleu --language en --lowercase -r ref.de ref.de -i a.de | names)" \
  'multi-bleu BLEU|nrefs:2|case:lc-ascii|eff:no|tok:moses-en|smooth:none|impl:gyre'
same "tokens are taken as they are" "$(evaluate bleu --protocol multi-bleu compound-split --tokenized -r ref.de -i ref.de | names)" \
  'multi-bleu BLEU|nrefs:1|case:mixed|eff:no|tok:asis|smooth:none|impl:gyre
compound-split BLEU|nrefs:1|case:mixed|eff:no|tok:asis|quotes:asis|split:atat|smooth:none|impl:gyre'
same "JSON has the protocol" "$(evaluate bleu --protocol all -r ref.de -i ref.de --json | cut -d, -f1,2 | sed 's/100[.]0*4/100.0/')" \
  '{"bleu":100.0,"protocol":"sacrebleu"
{"bleu":100.0,"protocol":"multi-bleu"
{"bleu":100.0,"protocol":"compound-split"'
echo 'a well @-@ known trap' > split.de
rejects 1 'reference 1, line 1: expected text whose hyphens are not split, got the token @-@' \
  "$GYRE" evaluate bleu --protocol compound-split --tokenized -r split.de -i split.de

evaluate translation -r ref.de -i a.de > everything.txt
same "all metrics" "$(cut -d'|' -f1 everything.txt)" 'sacreBLEU
multi-bleu BLEU
compound-split BLEU
chrF2
chrF2++
TER'
same "each metric alone" "$(evaluate bleu --protocol all -r ref.de -i a.de; evaluate chrf -r ref.de -i a.de
  evaluate chrf --chrf-word-order 2 -r ref.de -i a.de; evaluate ter -r ref.de -i a.de)" "$(cat everything.txt)"
same "TER" "$(evaluate ter -r ref.de -i ref.de)" 'TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|impl:gyre = 0.00'
same "options of TER" "$(evaluate ter --ter-normalized --ter-no-punct --ter-case-sensitive -r ref.de -i ref.de | names)" \
  'TER|nrefs:1|case:mixed|tok:tercom|norm:yes|punct:no|asian:no|impl:gyre'

# sacreBLEU 2.6.0: -i a.de b.de -m ter --paired-bs --paired-bs-n 200.
evaluate ter -r ref.de -i a.de b.de --paired bootstrap --paired-n 200 > paired.txt
same "paired bootstrap" "$(cat paired.txt)" "$(cat <<'TEXT'
a.de: TER|nrefs:1|bs:200|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|impl:gyre = 27.78 (μ = 28.48 ± 17.22)
b.de: TER|nrefs:1|bs:200|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|impl:gyre = 44.44 (μ = 41.44 ± 45.00) (p = 0.1791)
TEXT
)"
[ "$(evaluate ter -r ref.de -i a.de b.de --paired bootstrap --paired-n 200 --seed 1)" != "$(cat paired.txt)" ] || fail "another seed changes nothing"
same "a system against itself" "$(evaluate chrf -r ref.de -i a.de a.de --paired randomization | grep -o '(p.*')" '(p = 1.0000)'
for name in ref a b; do sed -n '1p;4p' $name.de > $name.two; done
same "a p that two sentences cannot give" "$(evaluate ter -r ref.two -i ref.two b.two --paired randomization | grep -o '(p.*')" \
  '(p = 0.0001, but at least 0.5 because so few sentences differ)'
evaluate ter -r ref.two -i ref.two b.two --paired randomization --json > two.json
check "the same in JSON" contains '"least_possible_p_value":0.5' < two.json
evaluate chrf -r ref.de -i a.de b.de --paired randomization --confidence --confidence-n 50 --json > paired.json
same "JSON lines of a paired test" "$(grep -c '"signature":"nrefs:1|bs:50|ar:10000|seed:12345|.*"input":"[ab].de","confidence_mean":[0-9.]*,"confidence_half_width":[0-9.]*' paired.json)" 2
same "only systems have a p-value" "$(grep -c '"p_value":' paired.json)" 1
evaluate bleu -r ref.de --confidence < a.de | contains '^sacreBLEU\|nrefs:1\|bs:1000\|seed:12345\|.* = [0-9.]+ \(μ = [0-9.]+ ± [0-9.]+\) [0-9.]+/' || fail "--confidence: $(cat matches.txt)"

rejects 2 'standard input \(-\) at most once' "$GYRE" evaluate exact-match -r - -i -

# Unusual text: CRLF, no line end, empty lines only, a pipe.
same "CRLF" "$(sed 's/$/\r/' a.de | evaluate translation -r ref.de)" "$(cat everything.txt)"
same "no line end" "$(head -c -1 a.de | evaluate translation -r ref.de)" "$(cat everything.txt)"
same "a pipe" "$(evaluate translation -r <(cat ref.de) -i <(cat a.de))" "$(cat everything.txt)"
printf '\n\n\n\n' > blank.de
evaluate translation -r ref.de -i blank.de --json > blank.json
same "empty hypotheses" "$(cut -d, -f1 blank.json | tr '\n' ' ')" '{"bleu":0.0 {"bleu":0.0 {"bleu":0.0 {"chrf":0.0 {"chrf":0.0 {"ter":100.0 '
evaluate translation -r blank.de -i blank.de --confidence --confidence-n 10 > blank.txt
same "empty on both sides" "$(wc -l < blank.txt)" 6
head -c 300000 /dev/zero | tr '\0' 'x' > long.de
same "one long word" "$(evaluate ter -r long.de -i long.de | grep -o '= .*')" '= 0.00'
printf '\xff\n' > invalid.de
rejects 1 'invalid.de:1: not UTF-8' "$GYRE" evaluate ter -r invalid.de -i invalid.de
