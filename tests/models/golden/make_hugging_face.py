"""Golden values of BERT and RoFormer, from Hugging Face's transformers: tiny models with random weights, in f64.

Sentences run one by one. The loss is over the masked rows of all sentences, or over a label of each sentence: a class
or a score. Weights have Gyre's names. Writes hugging_face.json next to this script. Needs torch and transformers.
"""
import json
import pathlib

import torch
from transformers import (BertConfig, BertForMaskedLM, BertForSequenceClassification, RoFormerConfig,
                          RoFormerForMaskedLM, RoFormerForSequenceClassification)

SENTENCES = [[4, 7, 3, 9, 2], [5], [10, 6, 8, 2]]
TYPES = [[0, 0, 1, 1, 1], [1], [0, 0, 0, 1]]
CLASSES, SCORES = [2, 0, 1], [0.5, -1.25, 3.0]
MASKED_ROWS, TARGETS = [7, 0, 3, 3, 5], [6, 4, 9, 1, 5]
SIZES = dict(vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=40, attn_implementation="eager")
GRADIENTS = ["embed_token_types.weight", "encoder.layernorm_embedding.weight", "lm_head.bias",
             "encoder.layers.0.self_attn.qkv_proj.weight"]
CLASSIFIER_GRADIENTS = ["embed_token_types.weight", "encoder.layers.1.fc1.bias", "classification_head.dense.weight",
                        "classification_head.out_proj.weight", "classification_head.out_proj.bias"]


def numbers(tensor):
    return [float(f"{x:.10g}") for x in tensor.flatten().tolist()]


def masked_head():
    names = {"cls.predictions.bias": "lm_head.bias"}
    for kind in ("weight", "bias"):
        names[f"cls.predictions.transform.dense.{kind}"] = f"lm_head.dense.{kind}"
        names[f"cls.predictions.transform.LayerNorm.{kind}"] = f"lm_head.layer_norm.{kind}"
    return names


def classification_head(prefix):
    dense, last = ("bert.pooler.dense", "classifier") if prefix == "bert" else ("classifier.dense", "classifier.out_proj")
    return {f"{theirs}.{kind}": f"classification_head.{ours}.{kind}"
            for theirs, ours in ((dense, "dense"), (last, "out_proj")) for kind in ("weight", "bias")}


def renamed(tensors, prefix, head):
    names = {prefix + ".embeddings.word_embeddings.weight": "embed_tokens.weight",
             prefix + ".embeddings.token_type_embeddings.weight": "embed_token_types.weight"}
    if prefix == "bert":
        names[prefix + ".embeddings.position_embeddings.weight"] = "encoder.embed_positions.weight"
    for kind in ("weight", "bias"):
        names[f"{prefix}.embeddings.LayerNorm.{kind}"] = f"encoder.layernorm_embedding.{kind}"
    w = {ours: tensors[theirs] for theirs, ours in (names | head).items()}
    for i in range(SIZES["num_hidden_layers"]):
        for kind in ("weight", "bias"):
            theirs, ours = f"{prefix}.encoder.layer.{i}.", f"encoder.layers.{i}."
            qkv = [tensors[f"{theirs}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            w[f"{ours}self_attn.qkv_proj.{kind}"] = torch.cat(qkv)
            for a, b in (("attention.output.dense", "self_attn.out_proj"), ("intermediate.dense", "fc1"),
                         ("attention.output.LayerNorm", "self_attn_layer_norm"), ("output.dense", "fc2"),
                         ("output.LayerNorm", "final_layer_norm")):
                w[f"{ours}{b}.{kind}"] = tensors[f"{theirs}{a}.{kind}"]
    return w


def lively(model):
    torch.manual_seed(5)
    model = model.double().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.requires_grad and "embed_positions" not in key:
                p.copy_(((torch.randn_like(p) * 0.3 + ("LayerNorm.weight" in key)) * 1e4).round() / 1e4)
    return model


def outputs(model):
    return [model(torch.tensor([s]), token_type_ids=torch.tensor([t])).logits[0] for s, t in zip(SENTENCES, TYPES)]


def golden_of(model, prefix, head, logits, loss, wanted):
    loss.backward()
    state = dict(model.named_parameters())
    # Tied parameters occur once.
    gradients = renamed({key: torch.zeros_like(p) if p.grad is None else p.grad for key, p in state.items()}, prefix,
                        head)
    return {"weights": {k: numbers(v) for k, v in renamed(state, prefix, head).items()}, "logits": numbers(logits),
            "loss": loss.item(), "gradients": {k: numbers(gradients[k]) for k in wanted}}


def masked(preset, model, prefix):
    model = lively(model)
    logits = torch.cat(outputs(model))
    loss = torch.nn.functional.cross_entropy(logits[MASKED_ROWS], torch.tensor(TARGETS), reduction="sum")
    return {"preset": preset} | golden_of(model, prefix, masked_head(), logits, loss, GRADIENTS)


def classifier(preset, model, prefix):
    model = lively(model)
    logits = torch.stack(outputs(model))
    if model.config.num_labels == 1:
        loss = torch.nn.functional.mse_loss(logits[:, 0], torch.tensor(SCORES, dtype=torch.float64), reduction="sum")
    else:
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(CLASSES), reduction="sum")
    return {"preset": preset, "head": prefix, "classes": model.config.num_labels} | golden_of(
        model, prefix, classification_head(prefix), logits, loss, CLASSIFIER_GRADIENTS)


def main():
    golden = {"sizes": {"vocab_size": 11, "dim": 8, "layers": 2, "heads": 2, "ffn": 12, "max_positions": 40},
              "sentences": SENTENCES, "token_types": TYPES, "masked_rows": MASKED_ROWS, "targets": TARGETS,
              "variants": [masked("bert-mini", BertForMaskedLM(BertConfig(**SIZES)), "bert"),
                           masked("roformer-mini", RoFormerForMaskedLM(RoFormerConfig(**SIZES)), "roformer")],
              "labels": CLASSES, "scores": SCORES, "classifiers": [
                  make for classes in (3, 1) for make in (
                      classifier("bert-mini", BertForSequenceClassification(BertConfig(num_labels=classes, **SIZES)),
                                 "bert"),
                      classifier("roformer-mini", RoFormerForSequenceClassification(
                          RoFormerConfig(num_labels=classes, **SIZES)), "roformer"))]}
    path = pathlib.Path(__file__).with_name("hugging_face.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
