"""Golden values of the encoder-only model, from plain PyTorch: one tiny model, pre- and post-norm, with RoPE.

Sentences run one by one, without packing. The head computes every row; the loss uses the masked ones.
Writes encoder_only.json next to this script.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

from make_golden import D, EPS, FFN, H, LAYERS, V, Model, make_weights, numbers

SENTENCES = [[4, 7, 3, 9, 2], [5], [10, 6, 8, 2]]
MASKED_ROWS = [7, 0, 3, 3, 5]  # rows of the concatenated sentences, unordered and with a repeat
TARGETS = [6, 4, 9, 1, 5]
GRADIENTS = ["embed_tokens.weight", "encoder.layers.0.self_attn.qkv_proj.weight", "encoder.layers.1.fc2.bias",
             "encoder.layers.0.final_layer_norm.weight", "lm_head.dense.weight", "lm_head.layer_norm.bias",
             "lm_head.bias"]


def with_head(weights):
    """The encoder weights of the encoder-decoder, plus weights of a head."""
    generator = torch.Generator().manual_seed(11)
    w = {name: value for name, value in weights.items() if not name.startswith("decoder.")}
    for name, shape, mean in (("dense.weight", (D, D), 0), ("dense.bias", (D,), 0), ("layer_norm.weight", (D,), 1),
                              ("layer_norm.bias", (D,), 0), ("bias", (V,), 0)):
        w["lm_head." + name] = ((torch.randn(*shape, generator=generator) * 0.3 + mean) * 1e4).round() / 1e4
    return w


class EncoderOnly(Model):
    def ffn(self, x, layer):
        return self.branch(x, f"{layer}.final_layer_norm",
                           lambda h: self.linear(F.gelu(self.linear(h, f"{layer}.fc1")), f"{layer}.fc2"))

    def logits(self, ids):
        x = self.w["embed_tokens.weight"][ids]
        for i in range(LAYERS):
            layer = f"encoder.layers.{i}"
            x = self.branch(x, f"{layer}.self_attn_layer_norm",
                            lambda h: self.attention(h, h, f"{layer}.self_attn", False))
            x = self.ffn(x, layer)
        if self.pre:
            x = self.norm(x, "encoder.layer_norm")
        x = self.norm(F.gelu(self.linear(x, "lm_head.dense")), "lm_head.layer_norm")
        return F.linear(x, self.w["embed_tokens.weight"], self.w["lm_head.bias"])


def variant(weights, norm):
    model = EncoderOnly(weights, norm, "rope")
    logits = torch.cat([model.logits(torch.tensor(s)) for s in SENTENCES])
    loss = F.cross_entropy(logits[torch.tensor(MASKED_ROWS)], torch.tensor(TARGETS), reduction="sum")
    loss.backward()
    return {"norm": norm, "loss": loss.item(), "logits": numbers(logits),
            "gradients": {name: numbers(model.w[name].grad) for name in GRADIENTS}}


def main():
    weights = with_head(make_weights())
    golden = {"config": {"vocab_size": V, "dim": D, "ffn": FFN, "heads": H, "layers": LAYERS, "output_bias": True,
                         "layer_norm_epsilon": EPS},
              "sentences": SENTENCES, "masked_rows": MASKED_ROWS, "targets": TARGETS,
              "weights": {name: numbers(value) for name, value in weights.items()},
              "variants": [variant(weights, norm) for norm in ("pre", "post")]}
    path = pathlib.Path(__file__).with_name("encoder_only.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
