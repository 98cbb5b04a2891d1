#!/usr/bin/env python3
"""Writes tokenizer_directories.json: directories with a tokenizer as transformers reads them, lines, and the ids that
AutoTokenizer gives. A case without ids is one that Gyre refuses. Requires transformers (5.24) and tokenizers (0.23.3)."""
import json
import tempfile
from pathlib import Path

from tokenizers import pre_tokenizers
from transformers import AutoTokenizer

LINES = ["", "Hello, hello world!", "  hello  Héllo HÉLLO", "h 中文h", "[MASK] [mask] a[SEP]b [CLS][E1] [e1] <e2>",
         "<|endoftext|>hello<|endoftext|> hello <s>hello</s> <unk><mask> <pad>", "it's 'S 12 123", "a  [MASK]  b [NEW]"]
WORDS = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[E1]"] + list("abdehlorstwHé中文,!'[]<>12") +
         ["e\u0301", "##e", "##l", "##o", "##llo", "he", "hello", "world", "Hello", "mask", "[e1]", "##2", "##3", "文h"])
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ hello", "Ġ h", "1 2"]
SPECIALS = {"gpt": ["<|endoftext|>"], "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]}


def bpe_pieces(kind):
    pieces = SPECIALS[kind] + BYTES + [merge.replace(" ", "") for merge in MERGES]
    return {piece: i for i, piece in enumerate(pieces)}


def token(content, **changes):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": True, **changes}


def wordpiece_json(**parts):
    ids = {piece: i for i, piece in enumerate(WORDS)}
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": ids[piece], **token(piece)} for piece in WORDS[:5]],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": ids}, **parts}


def bpe_json():
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [{"id": 0, **token("<|endoftext|>")}],
            "normalizer": None, "pre_tokenizer": level, "post_processor": level, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": bpe_pieces("gpt"), "merges": [merge.split(" ") for merge in MERGES]}}


def lower_json(normalized):
    tokenizer = bpe_json()
    tokenizer["added_tokens"].append({"id": len(bpe_pieces("gpt")), **token("HÉLLO", special=False, normalized=normalized)})
    return {**tokenizer, "normalizer": {"type": "Lowercase"}}


CASED = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
         "lowercase": False}
BASES = {
    "words": "".join(piece + "\n" for piece in WORDS),
    "words.json": json.dumps(wordpiece_json(), ensure_ascii=False),
    "cased.json": json.dumps(wordpiece_json(normalizer=CASED), ensure_ascii=False),
    "whitespace.json": json.dumps(wordpiece_json(pre_tokenizer={"type": "Whitespace"}), ensure_ascii=False),
    "bpe.json": json.dumps(bpe_json(), ensure_ascii=False),
    "lower.json": json.dumps(lower_json(False), ensure_ascii=False),
    "lower_normalized.json": json.dumps(lower_json(True), ensure_ascii=False),
    "gpt": json.dumps(bpe_pieces("gpt"), ensure_ascii=False),
    "roberta": json.dumps(bpe_pieces("roberta"), ensure_ascii=False),
    "merges": "#version: 0.2\n" + "".join(merge + "\n" for merge in MERGES)}
N = len(WORDS)
NB = len(bpe_pieces("gpt"))
BERT = {"tokenizer_class": "BertTokenizer"}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}


def cases():
    """File to load, its base, its tokenizer_config.json, the other files, and whether Gyre refuses it."""
    def words(config, refused=False, **others):
        for file, base in (("vocab.txt", "words"), ("tokenizer.json", "words.json")):
            yield file, base, config, {"config": {"model_type": "bert"}, **others}, refused

    for lower in (None, True, False):
        for accents in (None, True, False):
            for chinese in (True, False):
                yield from words({**BERT, "do_lower_case": lower, "strip_accents": accents, "tokenize_chinese_chars": chinese}
                                 if lower is not None else {**BERT, "strip_accents": accents, "tokenize_chinese_chars": chinese})
    for config in ({"mask_token": "[E1]"}, {"cls_token": "[E1]", "sep_token": "[PAD]"}, {"unk_token": "[E1]"},
                   {"pad_token": "[NEW]"}, {"mask_token": None}, {"split_special_tokens": True},
                   {"additional_special_tokens": ["[E1]", "<e2>"]}, {"extra_special_tokens": ["[E1]"]},
                   {"image_token": "<e2>"}, {"eos_token": "</s>"},
                   {"added_tokens_decoder": {"4": token("[MASK]", lstrip=True)}},
                   {"added_tokens_decoder": {str(N): token("<e2>", special=False, normalized=True)}}):
        yield from words({**BERT, **config})
    yield from words(BERT, added_tokens={"<e2>": N, "[NEW]": N + 1})
    yield from words({**BERT, "additional_special_tokens": ["<E2>"]}, added_tokens={"<E2>": N, "[N]": N + 1})
    yield from words(BERT, special_tokens_map={"additional_special_tokens": ["<E2>"]}, added_tokens={"<E2>": N})
    yield from words(BERT, special_tokens_map={"mask_token": {"content": "[MASK]", "lstrip": True, "normalized": False,
                                                              "rstrip": False, "single_word": False}})
    yield from words({**BERT, "mask_token": "[E1]"}, added_tokens={"<e2>": N})
    yield from words({**BERT, "pad_token": "[E1]"}, special_tokens_map={"pad_token": "<pad>"})
    for name in ("DistilBertTokenizerFast", "ElectraTokenizer", "MobileBertTokenizer"):
        yield from words({"tokenizer_class": name, "do_lower_case": False})
    for name in ("BertJapaneseTokenizer", "ConvBertTokenizer", "MPNetTokenizer", "FunnelTokenizer", "SplinterTokenizer"):
        yield from words({"tokenizer_class": name}, True)
    yield "vocab.txt", "words", None, {"config": {"model_type": "mpnet"}}, True
    yield "vocab.txt", "words", None, {"config": {"model_type": "electra"}}, False
    yield "tokenizer.json", "cased.json", BERT, {"config": {"model_type": "bert"}}, False
    yield "tokenizer.json", "cased.json", {**BERT, "mask_token": "[E1]"}, {"config": {"model_type": "bert"}}, False
    yield "tokenizer.json", "cased.json", FAST, {"config": {"model_type": "bert"}}, False
    yield "tokenizer.json", "whitespace.json", FAST, {"config": {"model_type": "bert"}}, False
    yield "tokenizer.json", "whitespace.json", BERT, {"config": {"model_type": "bert"}}, True
    yield "tokenizer.json", "bpe.json", BERT, {"config": {"model_type": "bert"}}, True
    for config in ({}, {"pad_token": "<pad>"}, {"mask_token": "<mask>", "pad_token": "<|endoftext|>"},
                   {"additional_special_tokens": ["<unk>", "<s>"]}, {"split_special_tokens": True},
                   {"bos_token": "<s>", "eos_token": "</s>"}, {"image_token": "<e2>"},
                   {"added_tokens_decoder": {str(NB): token("<e2>", special=False, normalized=True)}}):
        for name in (FAST, {"tokenizer_class": "GPT2Tokenizer"}):
            yield "tokenizer.json", "bpe.json", {**name, **config}, {"config": {"model_type": "llama"}}, False
    for base in ("lower.json", "lower_normalized.json"):
        yield "tokenizer.json", base, FAST, {}, False
        for config in ({"normalized": False}, {"normalized": True}, {"special": True}):
            changed = {"added_tokens_decoder": {str(NB): token("HÉLLO", **{"special": False, **config})}}
            yield "tokenizer.json", base, {**FAST, **changed}, {}, False
            yield "tokenizer.json", base, {**FAST, **changed, "split_special_tokens": True}, {}, False
        for name in ("pad_token", "image_token"):
            yield "tokenizer.json", base, {**FAST, name: "HÉLLO", "split_special_tokens": True}, {}, False
    yield "tokenizer.json", "words.json", {"tokenizer_class": "GPT2Tokenizer"}, {"config": {"model_type": "llama"}}, True
    for model_type in ("gpt2", "opt", "gpt_neox", "roberta", "bart", "qwen2", "qwen3", "clip", "whisper", "deberta"):
        refused = model_type in ("clip", "whisper", "deberta")
        base = "roberta" if model_type in ("roberta", "bart") else "gpt"
        yield "vocab.json", base, None, {"config": {"model_type": model_type}}, refused
    for name in ("GPT2TokenizerFast", "Qwen2Tokenizer", "GPTNeoXTokenizerFast"):
        for config in ({}, {"add_prefix_space": True}, {"pad_token": "<pad>", "unk_token": "<unk>"}):
            yield "vocab.json", "gpt", {"tokenizer_class": name, **config}, {"config": {"model_type": "gpt2"}}, False
    yield "vocab.json", "roberta", {"tokenizer_class": "RobertaTokenizer", "mask_token": "<m>"}, {}, False
    yield "vocab.json", "gpt", {"tokenizer_class": "CLIPTokenizer"}, {}, True


def main():
    result = []
    for file, base, config, others, refused in cases():
        files = {name + ".json": others[name] for name in others}
        if config is not None:
            files["tokenizer_config.json"] = config
        case = {"file": file, "base": base, "files": files}
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, file).write_text(BASES[base])
            if file == "vocab.json":
                Path(directory, "merges.txt").write_text(BASES["merges"])
            for name, content in files.items():
                Path(directory, name).write_text(json.dumps(content))
            if not refused:
                tokenizer = AutoTokenizer.from_pretrained(directory)
                case["ids"] = [tokenizer.encode(line, add_special_tokens=False) for line in LINES]
        result.append(case)
    text = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in result)
    head = json.dumps({"lines": LINES, "bases": BASES}, ensure_ascii=False)[:-1]
    Path(__file__).with_name("tokenizer_directories.json").write_text(f'{head}, "cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
