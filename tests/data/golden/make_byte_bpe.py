#!/usr/bin/env python3
"""Writes byte_bpe/{gpt2,llama3,other}.json, small tokenizers in the format of Hugging Face's package tokenizers, and
byte_bpe/golden.json: lines, their ids and decoded bytes, and what the first two were trained on.
With VOCAB.json TEXT, prints the ids of the lines of TEXT instead, to compare them with `gyre encode --ids`.
Requires tokenizers (0.22.2)."""
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = Path(__file__).with_name("byte_bpe")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")

TRAINING = """The quick brown fox jumps over the lazy dog, and the dog doesn't care; it's 2024, isn't it?
I'll say that we've been there, they're here, and he'd have gone. THE DOG'S BONE, I'M SURE.
def encode(self, text):    return [self.ids[w] for w in text.split()]  # words
    if (x[i] == 0x1F) { y += 3.14159; } else { return -1; }\t\tfor (;;) ;
for (int i = 0; i < 100; ++i) std::printf("%d\\n", values[i]);
中文文本没有空格，所以一个句子是一个词。中国的文本是中文的文本。今天天气很好，我们去公园。
日本語のテキストもあります。한국어 텍스트도 있습니다.
Größe, naïve café, cafe\u0301, façade, œuvre, Ångström; ελληνικά; русский текст; العربية
😀😀 👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f 🇩🇪🇫🇷 👍🏽 and the emoji 😀 again 👩\u200d👩\u200d👧\u200d👦
aaaaaaaa aaaa aaa aaaaaaaaaaaaaaaa bababababab    eight        spaces
1234567 12 123 1,000,000 3.14 1/2 ½ ² ٣٤٥ 二〇二四
http://example.com/path?query=1&other=2#fragment user@example.com --option=value
The more the merrier, the more there is, the more they want: then, them, these, those, thence.""".split("\n")

LINES = [
    "", " ", "  ", "a", " a", "a ", "\n", "\r\n", "\n\n", " \n", "a\r\nb\r\n\r\nc", "a\n\n  b", "\t\tif x:\n\t\t\treturn\n",
    "The quick brown fox jumps over the lazy dog.", "the dogs' tails aren't what they've been: I'd say he'll go, I'm sure",
    "THE DOG'S I'M WE'VE THEY'RE HE'LL HE'D CAN'T", "'s 't '\u017f '\u017f\u017f ''s'' ’s don’t", "'S'T'RE'VE'M'LL'D",
    "1 12 123 1234 12345678 3.14159 1,000,000 0x1F ½²③ ٣٤٥٦ 一二三 Ⅳ",
    "eight        spaces, two  spaces, tab\tand \t mixed \t\t ends   ", "   begins with three", " " * 70 + "x" + " " * 33,
    "a\u00a0b\u2003c\u3000d\u1680e\u2028f\u2029g\u0085h\u000bi\u000cj\u001ck\u001fl\u200bm\ufeffn\u180eo",
    "中文文本没有空格，所以一个句子是一个词。", "今天天气很好，我们去公园！日本語と한국어，русский и ελληνικά", "𠀀𪛟豈\uf900 中a文1本",
    "😀 a😀😀b 👩\u200d👩\u200d👧\u200d👦👩\u200d🚀 ❤\ufe0f🇩🇪🇫🇷🇬🇧 👍🏽👋🏿 🏴\U000e0067\U000e0062\U000e007f 1\ufe0f\u20e3",
    "naïve café cafe\u0301 A\u030angstro\u0308m Å Ω e\u0301\u0301 \u0301 q\u0323\u0307 ö\u0308 Z\u0351\u036b\u0343",
    "العربية كَتَبَ ﷺ हिन्दी में পাঠ ไทย ខ្មែរ ᠮᠣᠩᠭᠣᠯ", "a\u0000b\u0001\u0002 \u001b[31mred\u007f \u0080\u009f\u00ad",
    "def f(x: int) -> str:\n    \"\"\"Doc.\"\"\"\n    return f\"{x!r:>10}\"  # ok\n\n\nclass A(B):\n    pass\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i]*2; }  // x\r\n#include <vector>\r\n", "<html>\n  <p class=\"x\">&amp;</p>\n</html>",
    "a_b-c.d,e;f:g!h?i\"j'k(l)m[n]o{p}q/r\\s|t@u#v$w%x^y&z*+=~`<>", "!!! ... --- ===== /// ??? ,,,, ''''\n\n\n!!!\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab", "the" * 40, "中" * 50, "ſtraße ǅ ﬁ İı Kelvin \u212a'\u212a",
    "<|endoftext|>", "a<|endoftext|>b <|endoftext|> c", "<|begin_of_text|>hi<|end_of_text|>", "<|endoftext|", "<|endoftext|><|endoftext|>",
    "<sep> a <sep>b<sep>", "<|mask|> x  <|mask|>  y\u3000<|mask|>\n z", "x<tag>y<tagged>z<tagge>", "<\u1ec7> <e\u0323\u0302> \u1ec7",
    "\ufffd\ufffd \ud7ff\ue000\U0010ffff\U0010fffe \ufffe\uffff", "ȷ\u0378\u0530 \U000e0001 \U0001fa75 \u20c0",
    "It was the best of times,\nit was the worst of times.\n\n\"Well,\" she said; \"I'll be 32 on the 4th.\"\n",
]


def trained(kind, size):
    tokenizer = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    if kind == "gpt2":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        special = ["<|endoftext|>"]
    else:
        split = pre_tokenizers.Split(Regex(LLAMA3), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        special = ["<|begin_of_text|>", "<|end_of_text|>"]
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, show_progress=False, special_tokens=special,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    bos = special[0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, tokenizer.token_to_id(bos))])
    return tokenizer


def other(base):
    """The parts of other published tokenizers: NFC, digits, a prefix space, added tokens after the vocabulary, merges as
    texts."""
    tokenizer = Tokenizer.from_str(base.to_str())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.add_special_tokens([AddedToken("<sep>"), AddedToken("<|mask|>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("<tag", normalized=False), AddedToken("<tagged>", normalized=False),
                          AddedToken("<\u1ec7>", normalized=True), AddedToken("  ", normalized=True)])
    return tokenizer


def with_joined_merges(text):
    tokenizer = json.loads(text)
    tokenizer["model"]["merges"] = [" ".join(pair) for pair in tokenizer["model"]["merges"]]
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


def compact(tokenizer):
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))


def main():
    tokenizers = {"gpt2": trained("gpt2", 700), "llama3": trained("llama3", 640)}
    tokenizers["other"] = other(tokenizers["gpt2"])
    golden = {"training": TRAINING, "lines": LINES}
    for name, tokenizer in tokenizers.items():
        text = compact(tokenizer)
        (FOLDER / f"{name}.json").write_text((with_joined_merges(text) if name == "other" else text) + "\n")
        ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in LINES]
        golden[name] = {"ids": ids, "decoded": [tokenizer.decode(row, skip_special_tokens=False) for row in ids]}
    (FOLDER / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


def print_ids(vocabulary, text):
    tokenizer = Tokenizer.from_file(vocabulary)
    with open(text, encoding="utf-8", newline="\n") as lines:
        for encoding in tokenizer.encode_batch([line.rstrip("\n") for line in lines], add_special_tokens=False):
            print(*encoding.ids)


if __name__ == "__main__":
    print_ids(*sys.argv[1:]) if len(sys.argv) > 1 else main()
