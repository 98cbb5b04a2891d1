#!/usr/bin/env python3
"""Writes metrics.json: scores of sacreBLEU (2.6.0) for difficult lines. Run: python3 make_metrics.py > metrics.json"""

import itertools
import json
import sys

from sacrebleu.metrics import BLEU, CHRF

# Triples (hypothesis, first reference, second reference) with text that tokenizers tend to get wrong.
MIXED = [
    ("The cat sat on the mat.", "The cat sat on the mat.", "A cat was sitting on the mat."),
    ("It costs 1,234.56 dollars, i.e. 3-4 times more.", "It costs $1,234.56, i.e. 3-4 times as much.", "That is 3-4 times as much."),
    ("He said: &quot;Tom &amp; Jerry&quot; &lt;b&gt; &amp;lt;", 'He said: "Tom & Jerry" <b> <', "He said &apos;Tom&apos;."),
    ("„Grüße aus Köln“, sagte er – 5€ für 20 %!", "„Grüße aus Köln“, sagte sie — 5 € für 20%!", "»Gruß aus Köln«, sagte er..."),
    ("", "An empty hypothesis.", ""),
    ("An empty reference.", "", ""),
    ("<skipped>state-of-the-art 1990- 2-1 x-", "state-of-the-art 1990-1995 2–1 x -", "state of the art"),
    ("  spaces\there \u00a0 and\u3000there\u2028now \x1c end  ", "spaces here and there now end", "spaces, here"),
    ("日本語のテスト。句読点、「括弧」。", "日本語の試験。句読点、『括弧』。", "日本語。"),
    ("Цена: 10½ ₽ № 5, ①②", "Цена: 10½ ₽, № 5; ①③", "Цена 10,5 ₽"),
    ("emoji 👩‍👩‍👧 ok 👍🏽!", "emoji 👩‍👩‍👧 okay 👍🏽!", "emoji"),
    ("a~b`c^d_e|f\\g/h@i#j%k*l+m=n", "a ~ b ` c ^ d _ e | f \\ g / h @ i # j % k * l + m = n", "a b c"),
    ("...,,, 3.14. 2.7, .5 5. (6.)", "... , , , 3.14 . 2.7 , .5 5. ( 6. )", "3.14"),
    ("e\u0301 cafe\u0301 café ﬁn ǅ ß", "é café cafe\u0301 fin Ǆ ss", "cafe"),
]
CASES = [
    ("STRASSE Straße GROẞ İstanbul ISTANBUL ΣΊΣΥΦΟΣ Σ ΑΣ. ǅ", "strasse straße groß i̇stanbul istanbul σίσυφος σ ας. ǆ", "straße"),
    ("The QUICK brown Fox JUMPS", "the quick Brown fox jumps", "THE QUICK BROWN FOX"),
]
SHORT = [("a b", "a c", "b"), ("x", "x", "y"), ("one two three", "one two four", "three")]
NOTHING = [("alpha beta gamma delta", "one two three four", "five"), ("epsilon", "six", "zeta")]
IDENTICAL = [("exactly the same line here.", "exactly the same line here.", ""), ("and, again: this one too", "and, again: this one too", "")]
LONG_REFERENCE = [("too short by far", "this one is too short by far and it should be punished", "too short"), ("yes it is", "yes it really is", "yes")]
SETS = {"mixed": MIXED, "cases": CASES, "short": SHORT, "nothing": NOTHING, "identical": IDENTICAL,
        "long_reference": LONG_REFERENCE, "empty": [("", "a b c d e", "")]}


def bleu(lines, count, tokenizer, lowercase, smoothing, value):
    metric = BLEU(tokenize=tokenizer, lowercase=lowercase, smooth_method=smoothing, smooth_value=value)
    references = [[pair[1 + k] for pair in SETS[lines]] for k in range(count)]
    hypotheses = [pair[0] for pair in SETS[lines]]
    score = metric.corpus_score(hypotheses, references)
    signature = str(metric.get_signature()).rsplit("|", 1)[0] + "|impl:gyre"
    exact = smoothing != "add-k"  # sacreBLEU adds k to the counts that it reports, too
    return dict(lines=lines, references=count, tokenizer=tokenizer, lowercase=lowercase, smoothing=smoothing, value=value,
                score=score.score, precisions=score.precisions, brevity_penalty=score.bp,
                hypothesis_length=score.sys_len, reference_length=score.ref_len,
                matches=score.counts if exact else None, totals=score.totals if exact else None,
                line=score.format(signature=signature))


def chrf(lines, count, word_order, beta, lowercase):
    metric = CHRF(word_order=word_order, beta=beta, lowercase=lowercase)
    references = [[pair[1 + k] for pair in SETS[lines]] for k in range(count)]
    score = metric.corpus_score([pair[0] for pair in SETS[lines]], references)
    signature = str(metric.get_signature()).rsplit("|", 1)[0] + "|impl:gyre"
    return dict(lines=lines, references=count, word_order=word_order, beta=beta, lowercase=lowercase, score=score.score,
                line=score.format(signature=signature))


def tokens():
    for tokenizer, lowercase in itertools.product(["13a", "intl", "char", "none"], [False, True]):
        metric = BLEU(tokenize=tokenizer, lowercase=lowercase)
        for line in [text for pair in MIXED + CASES for text in pair[:2]]:
            yield dict(tokenizer=tokenizer, lowercase=lowercase, line=line,
                       tokens=" ".join(metric._preprocess_segment(line).split()))


bleus = [bleu(lines, count, tokenizer, lowercase, "exp", None)
         for lines in SETS for count in (1, 2) for tokenizer, lowercase in [("13a", False), ("intl", False), ("char", False), ("none", True)]]
bleus += [bleu(lines, 1, "13a", False, smoothing, value) for lines in ("short", "long_reference", "nothing")
          for smoothing, value in [("none", None), ("floor", None), ("floor", 0.25), ("add-k", None), ("add-k", 0.5)]]
chrfs = [chrf(lines, count, word_order, beta, lowercase) for lines in SETS for count in (1, 2)
         for word_order, beta, lowercase in [(0, 2, False), (2, 2, True), (1, 3, False)]]


def rows(name, items):
    return f'"{name}": [\n' + ",\n".join(json.dumps(item) for item in items) + "\n]"


sys.stdout.write("{\n" + ",\n".join([rows("bleu", bleus), rows("chrf", chrfs), rows("tokens", tokens()),
                                     '"sets": ' + json.dumps(SETS, indent=1)]) + "\n}\n")
