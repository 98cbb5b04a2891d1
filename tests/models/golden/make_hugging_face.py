"""Golden values of BERT and RoFormer, from Hugging Face's transformers: tiny models with random weights, in f64.

Sentences run one by one; the loss takes the masked rows of all of them. The weights stand under Gyre's names.
Writes hugging_face.json beside this script. Needs torch and transformers.
"""
import json
import pathlib

import torch
from transformers import BertConfig, BertForMaskedLM, RoFormerConfig, RoFormerForMaskedLM

SENTENCES = [[4, 7, 3, 9, 2], [5], [10, 6, 8, 2]]
TYPES = [[0, 0, 1, 1, 1], [1], [0, 0, 0, 1]]
MASKED_ROWS, TARGETS = [7, 0, 3, 3, 5], [6, 4, 9, 1, 5]
SIZES = dict(vocab_size=11, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
             max_position_embeddings=40, attn_implementation="eager")
GRADIENTS = ["embed_token_types.weight", "encoder.layernorm_embedding.weight", "lm_head.bias",
             "encoder.layers.0.self_attn.qkv_proj.weight"]


def numbers(tensor):
    return [float(f"{x:.10g}") for x in tensor.flatten().tolist()]


def renamed(tensors, prefix, with_positions):
    names = {prefix + ".embeddings.word_embeddings.weight": "embed_tokens.weight",
             prefix + ".embeddings.token_type_embeddings.weight": "embed_token_types.weight"}
    if with_positions:
        names[prefix + ".embeddings.position_embeddings.weight"] = "encoder.embed_positions.weight"
    for kind in ("weight", "bias"):
        names[f"{prefix}.embeddings.LayerNorm.{kind}"] = f"encoder.layernorm_embedding.{kind}"
        names[f"cls.predictions.transform.dense.{kind}"] = f"lm_head.dense.{kind}"
        names[f"cls.predictions.transform.LayerNorm.{kind}"] = f"lm_head.layer_norm.{kind}"
    names["cls.predictions.bias"] = "lm_head.bias"
    w = {ours: tensors[theirs] for theirs, ours in names.items()}
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


def variant(name, model, prefix, with_positions):
    torch.manual_seed(5)
    model = model.double().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.requires_grad and "embed_positions" not in key:
                p.copy_(((torch.randn_like(p) * 0.3 + ("LayerNorm.weight" in key)) * 1e4).round() / 1e4)
    logits = torch.cat([model(torch.tensor([s]), token_type_ids=torch.tensor([t])).logits[0]
                        for s, t in zip(SENTENCES, TYPES)])
    loss = torch.nn.functional.cross_entropy(logits[MASKED_ROWS], torch.tensor(TARGETS), reduction="sum")
    loss.backward()
    state = {key: p for key, p in model.named_parameters()}
    # What is tied stands once.
    gradients = renamed({key: torch.zeros_like(p) if p.grad is None else p.grad for key, p in state.items()}, prefix,
                        with_positions)
    return {"preset": name, "weights": {k: numbers(v) for k, v in renamed(state, prefix, with_positions).items()},
            "logits": numbers(logits), "loss": loss.item(), "gradients": {k: numbers(gradients[k]) for k in GRADIENTS}}


def main():
    golden = {"sizes": {"vocab_size": 11, "dim": 8, "layers": 2, "heads": 2, "ffn": 12, "max_positions": 40},
              "sentences": SENTENCES, "token_types": TYPES, "masked_rows": MASKED_ROWS, "targets": TARGETS,
              "variants": [variant("bert-mini", BertForMaskedLM(BertConfig(**SIZES)), "bert", True),
                           variant("roformer-mini", RoFormerForMaskedLM(RoFormerConfig(**SIZES)), "roformer", False)]}
    path = pathlib.Path(__file__).with_name("hugging_face.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
