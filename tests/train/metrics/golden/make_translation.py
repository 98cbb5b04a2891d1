#!/usr/bin/env python3
"""Writes translation.json: TER, confidence intervals and paired tests of sacreBLEU (2.6.0), the random numbers of NumPy
(2.4.6), and tokenized BLEU by multi_bleu() below with the tokens of sacremoses (0.2.0). The lines are those of
make_metrics.py and sentences with shifted words. Run: python3 make_translation.py > translation.json"""

import json
import os
import random
import sys

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from multi_bleu import compound_split_bleu, multi_bleu


def shuffled(words, distance):
    """The words with some of them moved, and some of them replaced."""
    order = sorted(range(len(words)), key=lambda i: i + random.uniform(0, distance))
    return [words[i] if random.random() < 0.9 else random.choice(words) for i in order]


with open("metrics.json", encoding="utf-8") as file:
    LINES = json.load(file)["sets"]
random.seed(1)
SHIFTS = [("b c a d", "a b c d", "a d"), ("d a b c e f", "a b c d f e", "f e d c b a"), ("a " * 30, "a b " * 30, "b"),
          ("x " * 3, "a " * 120, ""), ("a " * 120, "x a x", "a a"), ("", "", ""), ("", "a", ""), ("a", "", "")]
for words, letters, distance in [(12, 4, 6), (20, 12, 9), (30, 6, 20), (40, 30, 20), (70, 60, 60)]:
    for _ in range(2):
        reference = [random.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[:letters]) for _ in range(words)]
        SHIFTS.append(tuple(" ".join(x) for x in (shuffled(reference, distance), reference, shuffled(reference, 3))))

QUOTES = [("Er sagte: „Das ist es.“", "Er sagte: \"Das ist es.\"", "Sie sagte: »Das ist's.«"),
          ("E-Mail-Adresse an-und-aus, a-b-c-d - e", "E-Mail-Adresse an-und-aus, a-b-c d - e", "Die E-Mail-Anschrift"),
          ("Ö-ä-ü-Laute, a-ä-c und --x- -y", "Ö-ä-ü-laute, a-ä-c und --x- -y", "Laute -"),
          ("Die 10-jährige Tochter & der Sohn [1]", "Die 10-Jährige Tochter & der Sohn [1]", "die tochter"),
          ("Das kostet 3,5 Mio. Euro, z.B. im Jan. 2010.", "Das kostet 3,5 Mio. Euro, z. B. im Jan. 2010.", "3.5")]
SETS = {"mixed": LINES["mixed"], "shifts": SHIFTS, "cases": LINES["cases"], "empty": LINES["empty"], "quotes": QUOTES,
        "short": LINES["short"], "nothing": LINES["nothing"]}


def columns(lines, count):
    return [row[0] for row in SETS[lines]], [[row[1 + k] for row in SETS[lines]] for k in range(count)]


def ter(lines, count, normalized, no_punct, case_sensitive):
    hypotheses, references = columns(lines, count)
    metric = TER(normalized=normalized, no_punct=no_punct, case_sensitive=case_sensitive)
    score = metric.corpus_score(hypotheses, references)
    signature = str(metric.get_signature()).rsplit("|", 1)[0] + "|impl:gyre"
    return dict(lines=lines, references=count, normalized=normalized, no_punct=no_punct, case_sensitive=case_sensitive,
                score=score.score, edits=score.num_edits, reference_length=score.ref_length,
                line=score.format(signature=signature))


METRICS = {"bleu": BLEU, "chrf": CHRF, "ter": TER}


def significance(lines, count, name, test, samples, seed):
    """The second reference is the other system."""
    os.environ["SACREBLEU_SEED"] = str(seed)
    rows = SETS[lines]
    references = [[row[1] for row in rows]] * count
    systems = [("a", [row[0] for row in rows]), ("b", [row[2] for row in rows])]
    _, scores = PairedTest(systems, {name: METRICS[name]()}, references, test, samples)()
    baseline, system = next(value for key, value in scores.items() if key != "System")
    return dict(lines=lines, references=count, metric=name, test=test, samples=samples, seed=seed, score=system.score,
                mean=system.mean, ci=system.ci, p_value=system.p_value)


def tokenized(lines, count, protocol, is_tokenized, lowercase):
    hypotheses, references = columns(lines, count)
    function = multi_bleu if protocol == "multi-bleu" else compound_split_bleu
    result = function(hypotheses, references, is_tokenized, lowercase)
    return dict(lines=lines, references=count, protocol=protocol, tokenized=is_tokenized, lowercase=lowercase, **result)


def numbers(seed):
    rng = np.random.default_rng(seed)
    below = {str(n): [int(x) for x in rng.integers(n, size=5)] for n in (1, 2, 7, 3004, 3000000000)}
    bits = [int(x) for x in rng.integers(2, size=40, dtype=bool)]
    return dict(seed=seed, below=below, bits=bits, after=[int(x) for x in rng.integers(10, size=3)])


def rows(name, items):
    return f'"{name}": [\n' + ",\n".join(json.dumps(item, default=float) for item in items) + "\n]"


ters = [ter(lines, count, *flags) for lines in ("mixed", "cases", "empty") for count in (1, 2)
        for flags in [(False, False, False), (True, False, True), (False, True, False), (True, True, False)]]
ters += [ter("shifts", count, False, False, False) for count in (1, 2)]
tests = [significance(lines, count, name, test, samples, seed) for lines in ("mixed", "short") for name in METRICS
         for count, test, samples, seed in [(1, "bs", 100, 12345), (2, "bs", 39, 7), (1, "ar", 200, 12345), (2, "ar", 50, 2**40 + 3)]]
bleus = [tokenized(lines, count, protocol, is_tokenized, lowercase)
         for lines in ("mixed", "quotes", "cases", "short", "nothing", "empty") for count in (1, 2) for protocol in ("multi-bleu", "compound-split")
         for is_tokenized, lowercase in [(False, False), (True, False), (True, True)]]

sys.stdout.write("{\n" + ",\n".join([rows("ter", ters), rows("significance", tests), rows("tokenized", bleus),
                                     rows("numbers", map(numbers, (0, 12345, 2**63 + 5))),
                                     '"sets": ' + json.dumps(SETS, indent=1)]) + "\n}\n")
