#!/usr/bin/env python3
"""Writes pieces.json: small vocabularies, lines, and the pieces that the packages sentencepiece (0.2.x), subword-nmt
(0.3.8) and Hugging Face's tokenizers show. Lines contain no unknown characters for the first two, which show the
characters of an unknown piece, while Gyre shows <unk>."""
import io
import json
from pathlib import Path

import sentencepiece
from subword_nmt.apply_bpe import BPE
from subword_nmt.get_vocab import get_vocab
from subword_nmt.learn_bpe import learn_bpe
from tokenizers import BertWordPieceTokenizer

LINES = """the quick brown fox jumps over the lazy dog
der schnelle braune Fuchs springt über den faulen Hund
newer newest lower lowest wider widest newer lower
größer am größten , schöner am schönsten ; Straße Straßen straßen
the the the der der der die die und und und and and @@ a@@ b
快速的棕色狐狸 跳过 懒狗 狐狸 狐狸
aaaa aaa aaaaa banana bananas ananas <unk> <0x41> ## ##a""".splitlines()

PIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] the quick fox jump ##s over la ##zy dog der sch ##nelle new ##er low ##est ,
; a ##a ##aa ban ##ana und @ # < > 狐 狸 gro ##ß ##ten""".split()


def sentencepiece_case(kind, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 3), model_writer=model, model_type=kind, normalization_rule_name="identity",
        character_coverage=1.0, minloglevel=3, **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return {"name": kind, "hex": model.getvalue().hex(), "pieces": [processor.encode(line, out_type=str) for line in LINES]}


def subword_nmt_case():
    codes = io.StringIO()
    learn_bpe([line + "\n" for line in LINES], codes, 60)
    bpe = BPE(io.StringIO(codes.getvalue()))
    pieces = [bpe.process_line(line) for line in LINES]
    dictionary = io.StringIO()
    get_vocab([line + "\n" for line in pieces], dictionary)
    return {"name": "subword-nmt", "codes": codes.getvalue(), "dictionary": dictionary.getvalue(),
            "pieces": [line.split(" ") for line in pieces]}


def wordpiece_case():
    tokenizer = BertWordPieceTokenizer(vocab={piece: i for i, piece in enumerate(PIECES)}, lowercase=True)
    return {"name": "wordpiece", "vocabulary": "\n".join(PIECES) + "\n",
            "pieces": [tokenizer.encode(line, add_special_tokens=False).tokens for line in LINES]}


cases = [sentencepiece_case("bpe", vocab_size=130), sentencepiece_case("unigram", vocab_size=88),
         sentencepiece_case("bpe", vocab_size=380, byte_fallback=True), subword_nmt_case(), wordpiece_case()]
Path(__file__).with_name("pieces.json").write_text(
    json.dumps({"lines": LINES, "cases": cases}, ensure_ascii=False) + "\n", encoding="utf-8")
