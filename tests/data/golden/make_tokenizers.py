#!/usr/bin/env python3
"""Writes tokenizers.json: small tokenizers of Hugging Face's package tokenizers with every part that Gyre reads, lines,
their ids and decoded texts. Requires tokenizers (0.23.3)."""
import json
from pathlib import Path

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers as n, pre_tokenizers as p, processors,
                        trainers)

TRAINING = ["the cat sat on the mat, and the café is naïve: it's 2024!", "The Cat sat; THE MAT. hello hello world 12 123",
            "中文文本 日本語 한국어 текст", "def f(x):\n    return x\n\n", "a_b-c (d) [e] {f} <g> #h $i"]
LINES = [
    "", " ", "  ", "a", " a ", "the cat sat", "The Cat  sat on   THE mat.", "hello world!", "naïve café cafe\u0301 Ünïcode", "\n",
    "a\nb\r\nc\n\n d", "\ttab\t\tx", "12 123 1234 ½²Ⅳ ①", "中文文本 a中b", "日本語 한국어 текст ТЕКСТ", "😀 👩\u200d👩\u200d👦 ❤\ufe0f",
    "a\u0000b\u0001\u0085c\u00a0d\u200be\u2028f\u3000g\ufeffh\ufffdi", "it's don't I'M ''", "a_b-c (d) [e] {f} <g> #h $i ^j `k` |l|",
    "<sep> a<sep>b <sep>  c", "a <mask>  b<mask>\u3000 c\n<mask>", "xwordx word words word. sword word", "TAG Tag tag taG Tägs",
    "[UNK] [CLS] <unk> <s>hello</s> ▁the▁ <0x41>", "hellohellohellohello" * 6, "İıſKΣσς ﬁ Å ǅ", "ﬀ ① ㍿ ｆｕｌｌ", "x\u061dy \u0302 e\u0301\u0301",
    "<<tag>> <tag>", "a  <sep>", "\u0301", "zzz qqq ###", "1,000.50%", "the  cat   sat    ", "   the", "ab ba aab", "\U0002b820\U0002b930x",
    "def f(x):\n    return x\n\n", "<sep><sep> <mask><sep>", "a<0x0A>b"]


def wordpiece(normalizer, pre, prefix="##", decoder=None, unk="[UNK]", longest=None, lower=True):
    special = [unk, "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token=unk, continuing_subword_prefix=prefix))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre
    tokenizer.train_from_iterator(TRAINING, trainers.WordPieceTrainer(
        vocab_size=140, special_tokens=special, continuing_subword_prefix=prefix, show_progress=False))
    tokenizer.decoder = decoder or decoders.WordPiece(prefix=prefix)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    data = json.loads(tokenizer.to_str())
    data["model"]["unk_token"] = unk
    if longest:
        data["model"]["max_input_chars_per_word"] = longest
    return data


def bpe(normalizer, pre, decoder, special=("<unk>", "<s>", "</s>"), alphabet=(), size=220, fallback=False, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre
    pieces = [f"<0x{byte:02X}>" for byte in range(256)] if fallback else []
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=size + len(pieces), special_tokens=[*special, *pieces], initial_alphabet=list(alphabet), show_progress=False,
        **{key: options[key] for key in ("continuing_subword_prefix", "end_of_word_suffix") if key in options}))
    tokenizer.decoder = decoder
    data = json.loads(tokenizer.to_str())
    if fallback:  # pieces of bytes are no added tokens
        data["added_tokens"] = [token for token in data["added_tokens"] if token["id"] < len(special)]
    return data


def changed(data, *added, **fields):
    data = json.loads(json.dumps(data))
    for key, value in fields.items():
        data["model"][key] = value
    tokenizer = Tokenizer.from_str(json.dumps(data))
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return json.loads(tokenizer.to_str())


def sequence_of(*parts):
    return p.Sequence(list(parts))


LLAMA = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
LLAMA_DECODER = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
BYTES = dict(normalizer=None, decoder=decoders.ByteLevel())
FALLBACK = dict(unk_token="<unk>", fuse_unk=True, byte_fallback=True, fallback=True)
ADDED = [AddedToken("<sep>", special=True), AddedToken("<mask>", special=True, lstrip=True, rstrip=True),
         AddedToken("word", single_word=True, normalized=False), AddedToken("TAG", normalized=True), AddedToken("<tag>", normalized=False),
         AddedToken("#h", normalized=True, lstrip=True)]


def tokenizers():
    cased = wordpiece(n.BertNormalizer(lowercase=False), p.BertPreTokenizer())
    yield "wordpiece: BERT, lower case", wordpiece(n.BertNormalizer(), p.BertPreTokenizer())
    yield "wordpiece: BERT, cased", cased
    yield "wordpiece: BERT, lower case with accents", wordpiece(n.BertNormalizer(strip_accents=False), p.BertPreTokenizer())
    yield "wordpiece: BERT, cased without accents", wordpiece(n.BertNormalizer(lowercase=False, strip_accents=True), p.BertPreTokenizer())
    yield "wordpiece: BERT, text not cleaned, Chinese whole", wordpiece(
        n.BertNormalizer(clean_text=False, handle_chinese_chars=False), p.BertPreTokenizer())
    yield "wordpiece: course", wordpiece(n.Sequence([n.NFD(), n.Lowercase(), n.StripAccents()]), p.Whitespace())
    yield "wordpiece: no normalizer, prefix @@", wordpiece(None, p.Whitespace(), prefix="@@")
    yield "wordpiece: NFKC, split, digits, punctuation, short words", wordpiece(
        n.Sequence([n.NFKC(), n.Lowercase()]), sequence_of(p.WhitespaceSplit(), p.Digits(True), p.Punctuation()), longest=5)
    yield "wordpiece: other unknown token, no clean-up", wordpiece(
        n.Strip(left=True, right=False), p.CharDelimiterSplit(" "), unk="<unk>", decoder=decoders.WordPiece(cleanup=False))
    yield "wordpiece: added tokens", changed(wordpiece(n.BertNormalizer(), p.BertPreTokenizer()), *ADDED)
    word_level = Tokenizer(models.WordLevel({"<unk>": 0, "the": 1, "cat": 2, "sat": 3, ".": 4, "hello": 5}, unk_token="<unk>"))
    word_level.pre_tokenizer = p.Whitespace()
    yield "words", json.loads(word_level.to_str())
    alphabet = p.ByteLevel.alphabet()
    level = p.ByteLevel(add_prefix_space=False)
    yield "byte-level: bytes left out", bpe(pre=level, **BYTES)
    yield "byte-level: an unknown token for each byte", bpe(pre=level, unk_token="<unk>", **BYTES)
    yield "byte-level: an unknown token for adjacent bytes", bpe(pre=level, unk_token="<unk>", fuse_unk=True, **BYTES)
    yield "byte-level: NFKC, prefix space", bpe(n.NFKC(), p.ByteLevel(), decoders.ByteLevel(), alphabet=alphabet, size=330)
    yield "byte-level: NFKD, Lowercase, Replace", bpe(
        n.Sequence([n.NFKD(), n.Lowercase(), n.Replace(Regex(r"\s+"), " "), n.Replace("a", "aa")]), level, decoders.ByteLevel(),
        alphabet=alphabet, size=330)
    yield "byte-level: NFD, StripAccents, added tokens", changed(
        bpe(n.Sequence([n.NFD(), n.StripAccents()]), level, decoders.ByteLevel(), alphabet=alphabet, size=330), *ADDED)
    yield "byte-level: two tokens before the text", dict(
        bpe(pre=level, alphabet=alphabet, size=330, **BYTES), post_processor=json.loads(processors.TemplateProcessing(
            single="<s> <unk> $A </s>", special_tokens=[("<s>", 1), ("<unk>", 0), ("</s>", 2)]).__getstate__()))
    yield "byte-level: RoBERTa", dict(
        bpe(pre=level, alphabet=alphabet, size=330, **BYTES),
        post_processor=json.loads(processors.RobertaProcessing(("</s>", 2), ("<s>", 1)).__getstate__()))
    yield "byte-level: Falcon", bpe(
        pre=sequence_of(p.Punctuation("contiguous"), level, p.Digits(), p.Split(Regex("[0-9][0-9][0-9]"), "isolated")),
        alphabet=alphabet, size=330, **BYTES)
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        yield f"byte-level: Split {behavior}", bpe(
            pre=sequence_of(p.Split(Regex(r"[ \w]"), behavior), p.ByteLevel(False, use_regex=False)), alphabet=alphabet, size=330, **BYTES)
    yield "byte-level: inverted Split of a text, suffix", bpe(
        pre=sequence_of(p.Split("a", "isolated", invert=True), level), alphabet=alphabet, size=330, end_of_word_suffix="</w>",
        unk_token="<unk>", **BYTES)
    yield "bpe: Llama 2", bpe(LLAMA, None, LLAMA_DECODER, **FALLBACK)
    yield "bpe: Llama 2, added tokens", changed(bpe(LLAMA, None, LLAMA_DECODER, **FALLBACK), *ADDED)
    for scheme in ("first", "always", "never"):
        yield f"bpe: Metaspace {scheme}", changed(
            bpe(None, p.Metaspace(prepend_scheme=scheme), decoders.Metaspace(prepend_scheme=scheme), **FALLBACK), *ADDED[:2])
    yield "bpe: Metaspace whole, words kept", bpe(None, p.Metaspace(prepend_scheme="first", split=False), LLAMA_DECODER, ignore_merges=True,
                                                  **FALLBACK)
    yield "bpe: characters, unknown left out", bpe(None, p.Whitespace(), None)
    yield "bpe: characters, unknown fused", bpe(n.NFC(), p.WhitespaceSplit(), None, unk_token="<unk>", fuse_unk=True)
    yield "bpe: suffix", bpe(n.Lowercase(), p.BertPreTokenizer(), decoders.BPEDecoder("</w>"), unk_token="<unk>", end_of_word_suffix="</w>")
    yield "bpe: prefix", bpe(None, p.Whitespace(), decoders.WordPiece(), unk_token="<unk>", continuing_subword_prefix="##")


def main():
    golden = {"lines": LINES, "tokenizers": []}
    for name, data in tokenizers():
        tokenizer = Tokenizer.from_str(json.dumps(data))
        ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in LINES]
        around = tokenizer.encode("").ids
        golden["tokenizers"].append({
            "name": name, "tokenizer": data, "ids": ids, "around": around,
            "decoded": [tokenizer.decode(line, skip_special_tokens=False) for line in ids]})
    Path(__file__).with_name("tokenizers.json").write_text(
        json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
