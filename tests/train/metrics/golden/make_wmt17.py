#!/usr/bin/env python3
"""Writes wmt17.json: scores of the 16 systems of WMT17 English-German in ../shared/data/sacrebleu_tests. chrF, chrF++,
TER and the significance are those of sacreBLEU (2.6.0), tokenized BLEU is that of multi_bleu.py with the tokens of
sacremoses (0.2.0). Run: python3 make_wmt17.py ../shared/data > wmt17.json"""

import json
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from multi_bleu import compound_split_bleu, multi_bleu

folder = pathlib.Path(sys.argv[1]) / "sacrebleu_tests/wmt17_en_de"
read = lambda path: path.read_text(encoding="utf-8").split("\n")[:-1]
reference = [read(folder / "reference.txt")]
NAMES = sorted(path.name.split(".", 1)[1][:-len(".en-de.txt")] for path in folder.glob("newstest2017.*.txt"))
TESTED = ["KIT.4950", "LMU-nmt-single.4893", "RWTH-nmt-ensemble.4921"]
JOBS = {"chrf": lambda lines: CHRF().corpus_score(lines, reference).score,
        "chrf_plus": lambda lines: CHRF(word_order=2).corpus_score(lines, reference).score,
        "multi_bleu": lambda lines: multi_bleu(lines, reference, False)["score"],
        "compound_split": lambda lines: compound_split_bleu(lines, reference, False)["score"],
        "ter": lambda lines: TER().corpus_score(lines, reference).score}


def system(name):
    return read(folder / f"newstest2017.{name}.en-de.txt")


def job(arguments):
    name, key = arguments
    if key in JOBS:
        return JOBS[key](system(name))
    _, scores = PairedTest([(name, system(name)) for name in TESTED], {"bleu": BLEU()}, reference, key, 1000)()
    return [dict(name=name, score=result.score, mean=result.mean, ci=result.ci, p_value=result.p_value)
            for name, result in zip(TESTED, scores["BLEU"])]


if __name__ == "__main__":
    with ProcessPoolExecutor(8) as pool:
        scores = list(pool.map(job, [("", "bs"), ("", "ar")] + [(name, key) for name in NAMES for key in JOBS]))
    bootstrap, randomization = scores[:2]
    systems = [dict(name=f"newstest2017.{name}.en-de", **dict(zip(JOBS, scores[2 + i * len(JOBS):])))
               for i, name in enumerate(NAMES)]
    json.dump({"systems": systems, "bootstrap": bootstrap, "randomization": randomization}, sys.stdout, indent=1,
              default=float)
    print()
