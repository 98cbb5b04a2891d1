#!/usr/bin/env python3
"""Writes subword_nmt_learning.json: texts, and the merges that subword-nmt learns from them. Texts of ../shared are
represented by the FNV-1a hash of their codes files. Requires the package subword-nmt 0.3.8."""
import io
import json
from collections import Counter
from pathlib import Path
from random import Random

from golden_lines import fnv1a
from subword_nmt.learn_bpe import learn_bpe

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared" / "data"
MULTI30K = ["multi30k/tok/train.lc.norm.tok." + side for side in ("en", "de")]
TATOEBA = ["tatoeba/tatoeba." + side for side in ("en", "de")]


def codes_of(lines, merges, min_frequency):
    """Joint merges, as learn_joint_bpe_and_vocab.py learns them. Lines end at line feeds only."""
    words = Counter(word for line in lines for word in line.strip("\r\n ").split(" ") if word)
    out = io.StringIO()
    learn_bpe([f"{word} {count}" for word, count in words.items()], out, merges, min_frequency, is_dict=True)
    return out.getvalue()


def random_text(seed, letters, weights, lines):
    """Few letters: symbols repeat, merges of different pairs give the same symbol, and counts are equal."""
    draw = Random(seed)
    return [" ".join("".join(draw.choices(letters, weights, k=draw.randint(1, 9))) for _ in range(draw.randint(1, 8)))
            for _ in range(lines)]


TEXTS = {
    "two letters": random_text(1, "ab", (2, 1), 60),
    "letters of several bytes": random_text(2, "abcéß中😀", (5, 4, 3, 2, 2, 1, 1), 60),
    "white space inside words": random_text(3, "abc\u00a0\t\u2003\\", (5, 4, 3, 2, 1, 1, 1), 60),
    "runs of a letter": ["a" * n + " " + "b" * (n % 7 + 1) + "a" * (n % 5) for n in range(1, 60)],
}
cases = [{"name": name, "lines": lines, "merges": merges, "min_frequency": frequency,
          "codes": codes_of(lines, merges, frequency)}
         for name, lines in TEXTS.items() for merges, frequency in ((60, 2), (1000, 5))]
shared = []
for files, merges, frequency in ((["subword_nmt_tests/corpus.en"], 1000, 2), (MULTI30K, 10000, 2), (TATOEBA, 15000, 2)):
    lines = [line for file in files for line in (SHARED / file).read_bytes().decode().split("\n")]
    codes = codes_of(lines, merges, frequency)
    shared.append({"files": files, "merges": merges, "min_frequency": frequency, "hash": fnv1a(codes)})
Path(__file__).with_name("subword_nmt_learning.json").write_text(
    json.dumps({"cases": cases, "shared": shared}, ensure_ascii=False) + "\n", encoding="utf-8")
