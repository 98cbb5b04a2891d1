#!/usr/bin/env python3
"""Writes wordpiece.json: a small vocab.txt, lines and their ids. Needs Hugging Face's package tokenizers (0.23.3)."""
import json
import tempfile
from pathlib import Path

from tokenizers import BertWordPieceTokenizer

PIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] the quick fox jump ##s ##ed over un ##aff ##able naive cafe ##ing straße gro
##ß ! ? , . ' - $ ^ ` [ ] mask 中 国 人 日 ##本 本 ό σ ς ##ς ##σ a b c ##a ##b ##c e ##e 1 2 ##3 # ## Cafe Quick The
́ İ i i̇ 한 ##국 ひ ##ら ❤ € “ ” … ­ ½ ñ n ##n""".split()

LINES = [
    "The quick fox jumps over, jumped!", "unaffable UNAFFABLE", "naïve café CAFÉ Cafe\u0301", "Straße GROSS groß",
    "中国人日本 a中b", "[ mask ]", "$1,23.3 ^`'-", "  white\t space\u00a0a\u2003b\u3000c ", "abcabc abcx xyz",
    "a\u200bb\u0000c\ufffdb a\u00adb", "“quick”…❤€", "İ I i", "한국 ひら", "ΑΣ ας Σ", "½ ñ Ñ n", "a" * 60 + " a", "", "   ",
]

with tempfile.TemporaryDirectory() as folder:
    vocabulary = Path(folder, "vocab.txt")
    text = "".join(piece + "\n" for piece in PIECES)
    vocabulary.write_text(text, encoding="utf-8")
    golden = {"vocabulary": text, "lines": LINES}
    for name, lower in (("uncased", True), ("cased", False)):
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=lower)
        golden[name] = [tokenizer.encode(line, add_special_tokens=False).ids for line in LINES]
Path(__file__).with_name("wordpiece.json").write_text(json.dumps(golden, ensure_ascii=True) + "\n", encoding="utf-8")
