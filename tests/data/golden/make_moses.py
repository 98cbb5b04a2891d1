#!/usr/bin/env python3
"""Writes moses.json: what sacremoses makes of some lines, and hashes of what it makes of many.

    pip install sacremoses==0.2.0
    python make_moses.py

Without the texts of ../shared it keeps their hashes."""
import json
import re
from pathlib import Path

from golden_lines import Random, hash_lines
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

HERE = Path(__file__).parent
SHARED = HERE.parents[3] / "shared" / "data"

LINES = [
    "", " ", ".", ",", "'", "Hello, world!", "It's 5 o'clock; don't go.", "The Jones' house isn't O'Neil's.",
    "'tis the '90s and the 1990's.", "a'b'c'd 'a' '' x''y 1'2 1's 's", "He said 'yes.'", "x .'", "..'", ".'",
    "Dr. Smith met Mr. Jones. He left.", "No. 5, No. five, Art. 3 and pp. 7-9, Nr. 2", "at 5 p.m.", "at 5 p.m. today",
    "Das ist z.B. gut, d.h. am 3. Mai bzw. 4. Juni. Er ging.", "Er sagt's: 'Nein.'", "U.S. and U.K. A. B. c. 1. 1.1. é. É.",
    "Wait... what.. is....this . . .", "...", "a...", "...a", "x. ...", "DOTMULTI DOTDOTMULTI xDOTMULTIx MULTI DOTMULTI.",
    "1,000 and 5, or ,5 a,b a,,b a,,1 1,,2 1, ,", "1,", ",1", "a,", ",,", "½,² Ⅳ,x ٣,٤",
    "well-known a-b-c 1-2 -x x- - -- é-ß 中-文 @-@", "see http://www.example.com/a-b?q=1&x=2, mail a@b.de #tag",
    "<a href=\"x\">A & B</a> | [x] {y} `z` \"q\" \\ ^ ~ _ * + = %", "&amp; &lt; &quot; &apos; &#124; &bar;",
    "costs $5, €3.50 or £1,000 (10 %)", "中文字符，日本語。한국어 𠀀 😀 👩\u200d👩", "Ελλάδα Россия हिन्दी क् ක් ǅ e\u0301",
    "a\u00a0b\u2009c\u3000d\u2028e\u0085f\u001cg\th\u000bi", " \u0001 a\u0000b\u0007 \u007f\u200b\ufeff\u00ad ", "'\u0001 '",
    "\ud7ff\ue000\U000e0001\U0010ffff\u0378", "„Ja“, sagte er – ‚nein‘ — …", "“Quote,” he said. ‘x’ don’t a’b’c a‘b‘c ’s ´x´ ´´",
    "« a » \u00a0«\u00a0b\u00a0»\u00a0 «c» x\u00a0» «\u00a0»\u00a0«", "5 % 5\u00a0% ( a ) ((b)) (c). (d) , a : b ; c\u00a0: !",
    "1\u00a0000\u00a0000 nº\u00a05 20\u00a0ºC 3\u00a0cm a\u00a0? b\u00a0! c\u00a0; d,\u00a0e", "`` x '' '' ''' ` a  b",
    "\"a\", \"b\". \"c\",. \"\",\" a,\" b,\"\" \".", "x.\"y ..\"z .\".\"w .\" <b> .\"<c> .\"  ", "a.\" \u2009", "a\rb\r",
]
TOKENS = [
    "", "@-@", "a @-@ b", "@-@ a @-@ @-@ b @-@", "Hello , world !", "It 's 5 o 'clock ; do n't go .", "'s x",
    "the Jones ' house is ' nice '", "&quot; a &quot; and &quot; b &quot;", "&apos; x &apos; &#124; &lt; &gt; &#91; &#93;",
    "&amp;lt; &amp;amp; &bar; &bra; &ket; &am @-@ p;", "$ 5 ( x ) [ y ] { z } € ¿ que ? ¡ no !", "¿¿ $$( ,.?! %}", "中 文 a 中 b 文 가 나",
    "„ a “ b \" c „“ d", "`` a '' b `` c", "\"' a \"' b", "„ ja “ , sagte er", " a\u00a0b \u2009 c\u001cd ", "' क' '् 'x '1", "\\ : ; %",
]
# Lines and lines of tokens for the rules of other languages than English and German.
OTHERS = {
    "fr": (["L'homme d'aujourd'hui n'est-ce pas ? M. Dupont et Mme. Durand, p. 5.", "« Où va-t-on ? », dit-il ; qu'1 'mot' s' l''x.",
            "\u00ab\u00a0Oui.\u00a0\u00bb 1\u00a0000,50\u00a0€\u00a0; 20\u00a0%\u00a0! \"non\", \"oui\". Av. J.-C. janv. Janv."],
           ["Quoi ? ! : ; % \\ ?! ( ? ) , .", "l' homme n' est qu' 1 ' aujourd' hui '", "? a", "l'", "l' &quot; x", "3' x 'x' y"]),
    "es": (["¿Qué dijo el Sr. López, Ud. y la Dra. Ruiz? ¡No! D'Artagnan, pág. 3.", "\"hola\", dijo. \"adiós\". 1\u00a0000 pp. 5"],
           ["¿ Qué ? ¡ No ! D ' Artagnan", "l' x"]),
    "it": (["L'altro dell'Unione; un po' di art. 5, Art. 5, Art. x, pp. 7, pp. x, No. 3 e il sig. Rossi.", "\"ciao\", disse. 1\u00a0000 1'2 a'1"],
           ["l' altro dell' Unione ; un po' di ' x'", "l' à 1' a"]),
    "cs": (["např. ul. Nová, tj. č. 5. Je-li to O'Neil? JUDr. a s. r. o. roku 1973.", "„Ano“, řekl. „Ne.“ 1\u00a0000 \"x\", y"],
           ["„ Ano “ , řekl „ a “ \" x \" “ „ „ x “", "roku 1973 a 1980 .", "je - li e - mail", "3 , 5", "a' b"]),
    "ru": (["Напр. ул. Ленина, д. 5, т.е. 1990 г. и О'Нил. Англ. 5 тыс. Е.", "Г-н Иванов сказал: «Да», — и ушёл. 1\u00a0000 \"x\", y"],
           ["« Да » , — и ушёл .", "О ' Нил"]),
}
FRAGMENTS = """http://www.example.com/a-b?q=1&x=2 a@b.de 1,000 5, 3.14 1. 2.000,50 U.S. z.B. Dr. No. Art. pp. Nr. bzw. e.g. p.m. it's
don't 'tis '90s 1990's Jones' rock'n'roll a'b'c'd '' ' " ` `` ´ ´´ „ “ ” ‘ ’ ‚ « » ... .. .... … - -- well-known a-b-c 1-2 x- -y – — &amp;
&lt; &quot; &#124; & < > | [ ] <b> ( ) { } ). ) ( % 5 $ € ¿ ¡ # @ @-@ * + = / \\ ^ ~ _ 中文 日本語。 한국어 가 𠀀 😀 é e\u0301 ß ÄÖÜ Ελλάδα Россия
１ ١٢٣ ½ ² Ⅳ हिन्दी क् DOTMULTI DOT MULTI , ,, ,,, 1,,2 a,,1 ,1 ! ? ?! : ; .' ." ," ", ". .."x .".\"x ."< 's 'll «\u00a0 \u00a0»
1\u00a0000\u00a0000 \u00a0% nº\u00a0 \u00a0ºC \u00a0cm ,\u00a0 a‘b‘c a’b’c the The house Haus ist and 2 10 I von \u0001 \u007f \u200b \ufeff
\u00ad \ue000 \U0010ffff
L'homme aujourd'hui qu' dell'Unione po' l' d'1 Mme. janv. Sr. Dra. pág. sig. např. JUDr. č. tj. ул. г. т.е. „ano“ ¡No! Нет.""".replace("\n", " ").split(" ")
FRAGMENTS += [" ", "\t", "\u00a0", "\u2009", "\u3000", "\u2028", "\u0085", "\u001c", "\u000b", "\r", ") .", ' "', " %", " ,", "s '", "' s"]
RANDOM_LINES = 5000  # of each language
FILES = {  # and their first lines
    **dict.fromkeys(("en", "de"), {"newstest/newstest2013": 3000, "newstest/newstest2015": 2169, "newstest/newstest2016": 2999,
                                   "multi30k/val": 1014, "multi30k/test_2016_flickr": 1000, "tatoeba/tatoeba": 9818}),
    **dict.fromkeys(("fr", "es", "cs"), {"newstest/newstest2009": 2525, "newstest/newstest2010": 2489,
                                         "newstest/newstest2011": 3003, "newstest/newstest2012": 3003}),
    "it": {"newstest/newstest2009": 2525},
    "ru": {"newstest/newstest2012": 3003}}


def random_line(random):
    parts = []
    for _ in range(1 + random.below(12)):
        parts.append(FRAGMENTS[random.below(len(FRAGMENTS))] + " " * random.below(2))
    return "".join(parts)


def operations(language):
    tokenizer, detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
    punctuation = MosesPunctNormalizer(language)
    perl = MosesPunctNormalizer(language, perl_parity=True)

    def tokenize(line, **options):
        return tokenizer.tokenize(line, return_str=True, **options)

    def detokenize(line):
        if language != "cs":
            return detokenizer.detokenize(line.split())
        # A word after the line keeps sacremoses from joining the numbers of a line that ends with "number .".
        return detokenizer.detokenize(line.split() + ["end"]).removesuffix("end").rstrip(" ")

    return {
        "tokenize": tokenize,
        "hyphens": lambda line: tokenize(line, aggressive_dash_splits=True, escape=False),
        "detokenize": lambda line: detokenize(tokenize(line, aggressive_dash_splits=True)),
        "tokens": detokenize,
        "normalize": punctuation.normalize,
        "perl": perl.normalize,
    }


def hashes(language, lines):
    return {name: hash_lines(map(apply, lines)) for name, apply in operations(language).items() if name != "tokens"}


def examples(language):
    lines, tokens = OTHERS.get(language, (LINES, TOKENS))
    apply = operations(language)

    def table(name, inputs):
        return [[line, apply[name](line)] for line in inputs]

    return {name: table(name, lines) for name in ("tokenize", "hyphens", "normalize", "perl")} | {"tokens": table("tokens", tokens)}


def main():
    file = HERE / "moses.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    golden = {"fragments": FRAGMENTS, "random_lines": RANDOM_LINES, "languages": {}}
    for language, files in FILES.items():
        random = Random(1)
        golden["languages"][language] = result = {
            "examples": examples(language), "random": hashes(language, [random_line(random) for _ in range(RANDOM_LINES)]),
            "files": {}}
        for name, count in files.items():
            text = SHARED / f"{name}.{language}"
            if text.exists():
                lines = text.read_bytes().decode().split("\n")[:count]
                result["files"][name] = {"lines": count, "hashes": hashes(language, lines)}
            else:
                result["files"][name] = old["languages"][language]["files"][name]
    text = json.dumps(golden, ensure_ascii=False, indent=1)
    file.write_text(re.sub(r'\[\n +(".*"),\n +(".*")\n +\]', r"[\1, \2]", text) + "\n")  # a pair in a line


main()
