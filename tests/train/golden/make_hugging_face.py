"""Makes tiny Hugging Face models with random weights, as transformers saves them, and their logits, also with the weights
rounded to bf16.

Writes hugging_face/<model>/{config.json, model.safetensors, vocab.txt, tokenizer_config.json} and
hugging_face/logits.json next to this script. Needs torch and transformers.
"""
import json
import pathlib

import torch
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, RoFormerConfig,
                          RoFormerForMaskedLM, RoFormerForSequenceClassification)

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat dog s ##s sat on mat , . A b ##b c ##d".split()
SIZES = dict(vocab_size=len(PIECES), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=16, attn_implementation="eager")
IDS = [[2, 5, 6, 10, 4, 5, 12, 14, 3], [2, 3], [2, 5, 7, 3, 5, 6, 9, 14, 3]]
TYPES = [[0] * 9, [0, 0], [0] * 4 + [1] * 5]
# By name: the model, and whether its tokenizer lowercases.
MODELS = {"bert": (BertForMaskedLM(BertConfig(**SIZES)), True),
          "roformer": (RoFormerForMaskedLM(RoFormerConfig(**SIZES)), False),
          "roformer-values":
              (RoFormerForMaskedLM(RoFormerConfig(embedding_size=6, rotary_value=True, **SIZES)), True),
          "bert-classifier":
              (BertForSequenceClassification(BertConfig(num_labels=3, classifier_dropout=0.25, **SIZES)), True),
          "roformer-classifier":
              (RoFormerForSequenceClassification(RoFormerConfig(hidden_act="relu", **SIZES)), True)}


def make(name, model, lower_case):
    torch.manual_seed(3)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.requires_grad:
                p.copy_(torch.randn_like(p) * 0.3 + ("LayerNorm.weight" in key))
    model.tie_weights()
    directory = pathlib.Path(__file__).with_name("hugging_face") / name
    model.save_pretrained(directory)
    (directory / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    settings = {"do_lower_case": lower_case, "tokenizer_class": "BertTokenizer"}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings) + "\n")
    exact = logits(model)
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:  # except RoFormer's sinusoids, which Gyre computes
                p.copy_(p.to(torch.bfloat16))
    return exact, logits(model)


def logits(model):
    model = model.double().eval()
    return [model(torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0].tolist()
            for ids, types in zip(IDS, TYPES)]


def main():
    made = {name: make(name, model, lower_case) for name, (model, lower_case) in MODELS.items()}
    golden = {"ids": IDS, "token_types": TYPES, "logits": {name: exact for name, (exact, _) in made.items()},
              "logits_in_bf16": {name: rounded for name, (_, rounded) in made.items()}}
    text = json.dumps(golden, separators=(",", ":"), default=float)
    path = pathlib.Path(__file__).with_name("hugging_face") / "logits.json"
    path.write_text(json.dumps(json.loads(text, parse_float=lambda x: round(float(x), 7)), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
