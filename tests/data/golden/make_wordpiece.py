#!/usr/bin/env python3
"""Writes wordpiece.json: a small vocab.txt, lines, their ids and decoded text, and a trained vocabulary.
Requires Hugging Face's packages transformers (5.23.0) and tokenizers (0.23.3)."""
import json
from pathlib import Path
from random import Random

from tokenizers import BertWordPieceTokenizer, decoders
from transformers import BertTokenizer

PIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] the quick fox jump ##s ##ed over un ##aff ##able naive cafe ##ing straße gro
##ß ! ? , . ' - $ ^ ` [ ] mask 中 国 人 日 ##本 本 ό σ ς ##ς ##σ a b c ##a ##b ##c e ##e 1 2 ##3 # ## Cafe Quick The
́ İ i i̇ 한 ##국 ひ ##ら ❤ € “ ” … ­ ½ ñ n ##n α ##😀 😀 ##ι ##中 ‍ ＡＢ ，。 。 ， ﬁ ö o й и ##и д ##а ##д 𠀀 豈 ≠ = ạ ##í q ~ @
{ } | \\ / < > : ; " % & * ( ) + _ – « ا ##ل ##م ﷺ ⺀ ك ① ² ª sep [X]""".split()

LINES = [
    "The quick fox jumps over, jumped!", "unaffable UNAFFABLE", "naïve café CAFÉ Cafe\u0301", "Straße GROSS groß",
    "中国人日本 a中b", "[ mask ]", "$1,23.3 ^`'-", "  white\t space\u00a0a\u2003b\u3000c ", "abcabc abcx xyz",
    "a\u200bb\u0000c\ufffdb a\u00adb", "“quick”…❤€", "İ I i", "한국 ひら", "ΑΣ ας Σ σΣ ΣΣ", "½ ñ Ñ n", "a" * 60 + " a",
    "", "   ", "a" * 100, "a" * 101, "the " + "b" * 150 + " fox", "中" * 120,
    "the [MASK] fox", "[CLS] the fox [SEP]", "a[MASK]b", "[mask] [Mask] [MASK", "[[MASK]]", "[PAD][UNK][X] [SEP]x",
    "un[MASK]aff", "[MASK][MASK]", "[MA\u0000SK]", "[MASK]\u0301a",
    "😀 a😀 😀😀 👩\u200d👩 ❤\ufe0f", "a\u0085b a\u000bb a\u000cb a\u001fb a\u007fb",
    "a\u2028b\u2029c\u1680a\u202fb\u205fc",
    "\ufeffthe fox", "a\ue000b a\uf8ffb a\U000f0000b", "a\u200db a\u200eb a\u2060b", "ＡＢ，。中。a", "ﬁ ö Ö o\u0308",
    "Дад и Й й", "\U00020000a\U0002a6dfb", "\uf900 豈 a≠b", "q\u0323\u0307 ạí Ạ\u0301", "الم ﷺ كَ", "⺀①²ª",
    "«a»–b~@{}|\\/<>:;\"%&*()+_=#",
    "a\r\nb", "\u0301", "\u0301a \u20dd b\u20dd", "한국 \u1112\u1161\u11ab국", "ǅ Ǆ ǆ Ω Å K",
]

# Random words of few letters with random counts, so that few pairs are equally frequent.
random = Random(5)
LETTERS = "abcdeAéß日,", (9, 7, 5, 4, 3, 2, 2, 1, 1, 1)
TRAINING = {"".join(random.choices(*LETTERS, k=random.randint(1, 8))): random.randint(1, 3000) for _ in range(80)}
TRAINED_SIZES = {"uncased": 60, "cased": 44}


def encoder(lower):
    tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate(PIECES)}, do_lower_case=lower)
    return lambda line: tokenizer.encode(line, add_special_tokens=False)


def decode(ids):
    """Omits [CLS], [SEP] and [PAD], but shows [UNK] and [MASK]."""
    return decoders.WordPiece(prefix="##", cleanup=False).decode([PIECES[i] for i in ids if i not in (0, 2, 3)])


def trained(size, lower):
    """The sorted pieces of every distinct result: Hugging Face breaks ties by a hash that differs between runs."""
    text = [" ".join([word] * count) for word, count in TRAINING.items()]
    runs = set()
    for _ in range(20):
        tokenizer = BertWordPieceTokenizer(lowercase=lower)
        tokenizer.train_from_iterator(text, vocab_size=size, min_frequency=2, show_progress=False)
        runs.add(tuple(sorted(tokenizer.get_vocab())))
    return [list(run) for run in runs]


if __name__ == "__main__":
    golden = {"vocabulary": "".join(piece + "\n" for piece in PIECES), "lines": LINES}
    for name, lower in (("uncased", True), ("cased", False)):
        encode = encoder(lower)
        golden[name] = [encode(line) for line in LINES]
        golden[name + "_decoded"] = [decode(ids) for ids in golden[name]]
        (golden[name + "_trained"],) = trained(TRAINED_SIZES[name], lower)  # ties do not change the pieces of these sizes
        golden[name + "_size"] = TRAINED_SIZES[name]
    golden["training"] = TRAINING
    path = Path(__file__).with_name("wordpiece.json")
    path.write_text(json.dumps(golden, ensure_ascii=True) + "\n", encoding="utf-8")
