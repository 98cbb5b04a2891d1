#!/usr/bin/env python3
"""Writes subword_nmt.json: lines and subword-nmt's segmentation of them. Requires the package subword-nmt 0.3.8."""
import io
import json
import random
from pathlib import Path

from subword_nmt.apply_bpe import BPE, read_vocabulary
from subword_nmt.get_vocab import get_vocab
from subword_nmt.learn_bpe import learn_bpe

TEXT = """the quick brown fox jumps over the lazy dog
der schnelle braune Fuchs springt über den faulen Hund
newer newest lower lowest wider widest newer lower
größer am größten , schöner am schönsten ; Straße Straßen straßen
the the the der der der die die und und und and and and
Быстрая коричневая лиса прыгает через ленивую собаку
快速的棕色狐狸 跳过 懒狗 狐狸 狐狸
aaaa aaa aaaaa aaaaaa banana bananas ananas
e\u0301te\u0301 e\u0301te\u0301 zebra 😀😀 😀
""".splitlines()

LINES = TEXT + [
    "", " ", "   ", "a", "  leading and trailing  ", "two  spaces   inside", "tab\tinside a\u00a0word \u3000 wide",
    "unseen wörter xyz ξένος", "</w> a</w> </w></w> <w>", "lo@@ wer @@ x@@", "aaaaaaaaaaaaaaa aabaabaab", "😀 😀😀😀", "x \r",
]


def learned(symbols):
    out = io.StringIO()
    learn_bpe([line + "\n" for line in TEXT], out, symbols)
    return out.getvalue()


def random_codes(seed, header):
    """Merges in an order that training never produces: a merge may precede the merges that make its symbols."""
    draw = random.Random(seed)
    symbols = list("abc") + [c + "</w>" for c in "abc"] + ["</w>"]
    merges = []
    for _ in range(40):
        left, right = draw.choice(symbols), draw.choice(symbols)
        if left.endswith("</w>"):
            continue
        merges.append(f"{left} {right}")
        symbols.append(left + right)
    draw.shuffle(merges)
    merges += merges[:3]
    return header + "\n".join(merges) + "\n"


def random_lines(seed):
    draw = random.Random(seed)
    return [" ".join("".join(draw.choices("abc", k=draw.randint(1, 12))) for _ in range(8)) for _ in range(12)]


def case(name, codes, lines, threshold=None):
    vocabulary = None
    if threshold is not None:
        out = io.StringIO()
        get_vocab([BPE(io.StringIO(codes)).process_line(line + "\n") for line in lines], out)
        vocabulary = out.getvalue()
    bpe = BPE(io.StringIO(codes), vocab=read_vocabulary(vocabulary.splitlines(), threshold) if vocabulary else None)
    return {"name": name, "codes": codes, "dictionary": vocabulary, "threshold": threshold or 0, "lines": lines,
            "expected": [bpe.process_line(line) for line in lines]}


codes = learned(120)
old = codes.split("\n", 1)[1]
cases = [
    case("version 0.2", codes, LINES),
    case("version 0.2 with CRLF", codes.replace("\n", "\r\n"), LINES[:5]),
    case("version 0.2, vocabulary", codes, LINES, 2),
    case("version 0.2, threshold 3", codes, LINES, 3),
    case("version 0.1", old, LINES),
    case("version 0.1.0", "#version: 0.1.0\nl o\nlo w\nd e\ne r\ner </w>\nlow er</w>\ng </w>\n", LINES[:9]),
]
for seed in range(4):
    header = "#version: 0.2\n" if seed % 2 == 0 else "#version: 0.1\n"
    cases.append(case(f"random {seed}", random_codes(seed, header), random_lines(seed)))
    cases.append(case(f"random {seed}, threshold 4", random_codes(seed, header), random_lines(seed), 4))
Path(__file__).with_name("subword_nmt.json").write_text(json.dumps(cases, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
