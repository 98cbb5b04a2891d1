#!/usr/bin/env python3
"""Writes sequence_pairs.json: BERT's ids and token types of texts and pairs of texts, truncated to several lengths,
with the vocabulary of wordpiece.json; and the truncated lengths of two texts for all short lengths. Requires Hugging
Face's package tokenizers (0.23.3)."""
import json
import tempfile
from pathlib import Path

from tokenizers import BertWordPieceTokenizer

TEXTS = [
    ("The quick fox jumps over, jumped!", "unaffable fox"),
    ("unaffable", "The quick fox jumps over, jumped! The quick fox."),
    ("naïve café CAFÉ", "Straße GROSS groß"),
    ("a b c", "a b c"),
    ("\"a\" 'b'", "$1,23.3 ^`'-"),
    ("中国人日本 a中b", "a"),
    ("xyz", "한국 ひら"),
]
LENGTHS = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 64]
here = Path(__file__).parent

with tempfile.TemporaryDirectory() as folder:
    vocabulary = Path(folder, "vocab.txt")
    vocabulary.write_text(json.loads((here / "wordpiece.json").read_text())["vocabulary"], encoding="utf-8")
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)


def encode(length, *texts):
    tokenizer.enable_truncation(length, strategy="longest_first")
    encoded = tokenizer.encode(*texts)
    return {"ids": encoded.ids, "types": encoded.type_ids}


def kept(first, second, room):
    types = encode(room + 3, "a " * first, "b " * second)["types"]
    return [types.count(0) - 2, types.count(1) - 1]


golden = {
    "texts": TEXTS,
    "lengths": [{"length": n, "singles": [encode(n, a) for a, _ in TEXTS], "pairs": [encode(n, a, b) for a, b in TEXTS]}
                for n in LENGTHS],
    "kept": [[a, b, room, *kept(a, b, room)] for a in range(8) for b in range(8) for room in range(1, 15)],
}
(here / "sequence_pairs.json").write_text(json.dumps(golden) + "\n")
