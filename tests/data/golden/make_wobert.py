#!/usr/bin/env python3
"""Writes wobert.json: how jieba cuts lines, and the ids of WoBERT's and BERT's rules; of many lines their hashes.

    pip install jieba==0.42.1 transformers==5.24.0 tokenizers==0.23.3
    python make_wobert.py

WoBERT's rules are those of bert4keras: lower-case the whole text, cut it, keep a word of the vocabulary, and split any
other word as BERT does. The script needs the texts of ../shared."""
import json
import logging
import tempfile
import unicodedata
from functools import cache
from pathlib import Path

import jieba
from golden_lines import Random, hash_lines
from transformers import BertTokenizer

HERE = Path(__file__).parent
CHINESE = HERE.parents[3] / "shared" / "data" / "chinese"
FILES = {"niutrans_modern.txt": 18000, "cail2019_facts.txt": 2000}  # and their non-empty lines from the beginning
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Words with tags, without, equal words, words of frequency 0, of other characters, and equally probable paths.
DICTIONARY = """北京 34488 ns
北京大学 2053 nt
大学 20025 n
大学生 3000 n
学生 10000 n
生前 60 t
大 144099 a
学 17482 v
生 15000 vn
前 52000 f
研究 20000 v
研究生 900 n
生命 4000 vn
命 2000 n
起源 700 n
的 3188252 uj
的话 6000 u
话 8000 n
商品 4000 n
和服 150 n
和 555815 c
服务 7000 vn
服 900 v
务 100 v
中 243191 f
国 30000 n
中国 100000 ns
中国人 4000 n
国人 1000 n
人 186000 n
南京 1500 ns
南京市 30 ns
市长 1000 n
长江 1500 ns
长江大桥 4 n
大桥 500 n
江 1000 n
桥 1000 n
甲乙 10
乙丙 10
甲 0 x
丙 1
丁丁 0 n
丁丁丁丁 7 n
戊己 5 n
己庚 5 n
戊 5 n
庚 5 n
戊 9 n
C++ 30 nz
c++ 30 nz
c# 20 nz
T恤 4 n
t恤 4 n
卡拉OK 3 n
ab 10 eng
1号 50 m
ip 7 n
a.b 5 x
𠀀𠀁 9 n
café 5 n
鿕 6 n
鿖鿗 6 n
"""
PIECES = list(dict.fromkeys(SPECIALS + """北 京 大 学 生 研 究 命 起 源 的 话 商 品 和 服 务 中 国 人 南 市 长 江 桥 甲 乙 丙 丁 戊 己 庚 我 在 一 了
北京 大学生 研究生 研究 起源 中国人 和服 南京市 长江 甲乙 丁丁 c++ t恤 1号 卡拉ok
， 。 、 ！ ？ ； ： “ ” ‘ ’ （ ） 《 》 【 】 … — · ～ ￥ 「 」 a b c ##a ##b ##c ##1 ##2 1 2 0 ##0 . , + ##+ # % - & _ [ ] mask 2010
the ##s x ##x σ ς ω α カ か ハ ､ ｶ 한 국 ß e cafe é 豈 𠀀 㐀 鿕 鿖 龥 々 〇 😀 ½ ① ａ ﬁ ℃ № ０ ±""".split()))
LINES = [
    "", " ", "研究生命的起源", "研究生命起源的话", "北京大学生前的大学生", "商品和服务", "南京市长江大桥", "我在中国人大学", "甲乙丙", "乙丙丁",
    "丁丁", "丁丁丁", "丁丁丁丁丁", "戊己庚", "己庚", "C++和c#，T恤 卡拉OK卡拉ok", "abc ab a b ab12 1号 12号 a1b2", "IP的ip", "a.b a.bc .a. 2010.12-3%",
    "+#&._%-", "the中the国thes", "2010年 ２０１０ ①½", "，。、！？；：“中”‘国’（人）《大》【学】…—·～￥「」", "[MASK]的[SEP][mask]x[PAD", "中[UNK]国[CLS]",
    "café Café CAFE\u0301 naïve", "ΑΣ ας Σ ΣΑΣ. İI", "Straße ẞ", "カタカナ ひらがな が ｶﾞ", "한국 \u1112\u1161\u11ab", "豈\uf900 㐀㐁 𠀀𠀁𠀀 \U0002a6d6",
    "龥龦鿕鿖鿗鿿", "々〇〡", "😀中😀 👩\u200d👩", "中\u3000国\u00a0人\u2003大\t学 \u000b\u0085", "中\u200b国\ufeff人\u00ad大\u0000学\u0007\ufffd", "中\ue000国", "a\rb\r",
    "中" * 150, "a" * 101 + "中" + "b" * 100, "ﬁ ½ ℃ № ± Å K", "中\u0301国\u3099か\u3099", "  中  国  ", "##s的##a", "ab##", "x--x..x", "A", "1", "的的的话话的话的",
]
FRAGMENTS = """北京 大学 学生 生前 生命 研究 研究生 起源 的 的话 话 商品 和 和服 服务 务 中 国 中国 人 南京 市 长江 大桥 甲 乙 丙 丁 丁丁 戊 己 庚 戊己 我 一 a b
ab A AB c++ C++ c# T恤 t 恤 卡拉OK 1 12 1号 . , + # & _ % - a.b ， 。 “ ” （ ） … — · [MASK] [ ] ## 豈 \uf900 㐀 𠀀 𠀁 龥 鿕 鿖 鿗 é e\u0301 ß Σ İ カ が か\u3099
한국 😀 ½ ａ １ \u200b \u3000 \u00a0 \t \u0007 \ufeff \ue000 \U0010ffff""".replace("\n", " ").split(" ") + [" ", "  "]
RANDOM_LINES = 5000


def random_line(random):
    return "".join(FRAGMENTS[random.below(len(FRAGMENTS))] for _ in range(1 + random.below(20)))


def lower(text):
    text = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in text if unicodedata.category(c) != "Mn")


def split_specials(line):
    """The parts of a line, and the special pieces between them."""
    parts, plain, at = [], 0, 0
    while at < len(line):
        special = next((s for s in SPECIALS if line.startswith(s, at)), None)
        if special is None:
            at += 1
            continue
        parts += [line[plain:at], special]
        plain = at = at + len(special)
    return parts + [line[plain:]]


class Reference:
    def __init__(self, dictionary, pieces):
        self.jieba = jieba.Tokenizer(str(dictionary))
        self.jieba.cache_file = str(Path(tempfile.mkdtemp()) / "cache")
        self.ids = {piece: i for i, piece in enumerate(pieces)}
        self.tokenizers = {lower: BertTokenizer(vocab=self.ids, do_lower_case=lower) for lower in (True, False)}

    @cache
    def cut(self, line):
        return list(self.jieba.cut(line, HMM=False))

    @cache
    def bert(self, line, lower_case=True):
        return self.tokenizers[lower_case].encode(line, add_special_tokens=False)

    def wobert(self, line, lower_case=True):
        ids = []
        for i, part in enumerate(split_specials(line)):
            if i % 2 == 1:
                ids.append(self.ids[part])
                continue
            for word in self.cut(lower(part) if lower_case else part):
                ids += [self.ids[word]] if word in self.ids else self.bert(word, lower_case)
        return ids


def shared_pieces(dictionary):
    """The special pieces, then the characters and every fourth word of the dictionary, then ASCII."""
    pieces = dict.fromkeys(SPECIALS)
    for i, line in enumerate(dictionary.read_text(encoding="utf-8").splitlines()):
        word = line.split(" ")[0]
        if len(word) == 1 or i % 4 == 0:
            pieces[word] = None
    for c in map(chr, range(33, 127)):
        pieces[c] = None
        pieces["##" + c] = None
    return list(pieces)


def hashes(reference, lines):
    def text(numbers):
        return " ".join(map(str, numbers))

    return {
        "cut": hash_lines("|".join(reference.cut(line)) for line in lines),
        "wobert": hash_lines(text(reference.wobert(line)) for line in lines),
        "wobert cased": hash_lines(text(reference.wobert(line, False)) for line in lines),
        "bert": hash_lines(text(reference.bert(line)) for line in lines),
    }


def first_lines(name, count):
    lines = []
    with open(CHINESE / name, encoding="utf-8", newline="\n") as file:
        for line in file:
            line = line.rstrip("\n")
            if line:
                lines.append(line)
            if len(lines) == count:
                return lines
    raise SystemExit(f"{name}: expected {count} lines")


if __name__ == "__main__":
    jieba.setLogLevel(logging.WARNING)
    small = Path(tempfile.mkdtemp()) / "dictionary"
    small.write_text(DICTIONARY, encoding="utf-8")
    reference = Reference(small, PIECES)
    random = Random(1)
    golden = {"dictionary": DICTIONARY, "pieces": PIECES, "fragments": FRAGMENTS, "random_lines": RANDOM_LINES, "lines": LINES,
              "cut": [reference.cut(line) for line in LINES], "wobert": [reference.wobert(line) for line in LINES],
              "wobert cased": [reference.wobert(line, False) for line in LINES], "bert": [reference.bert(line) for line in LINES],
              "random": hashes(reference, [random_line(random) for _ in range(RANDOM_LINES)]), "files": FILES, "shared": {}}
    dictionary = CHINESE / "jieba_dict_small.txt"
    reference = Reference(dictionary, shared_pieces(dictionary))
    for name, count in FILES.items():
        golden["shared"][name] = hashes(reference, first_lines(name, count))
    (HERE / "wobert.json").write_text(json.dumps(golden, ensure_ascii=True) + "\n", encoding="utf-8")
