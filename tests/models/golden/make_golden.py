"""Golden values of the encoder-decoder, from plain PyTorch: one tiny model, four variants of norm and position.

Sentences run one by one, without packing or caches. Weights have four decimals, so the numbers in the JSON are exact.
Writes encoder_decoder.json next to this script.
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
V, D, FFN, H, LAYERS, EPS, SMOOTHING, BOS, EOS = 11, 8, 12, 2, 2, 1e-5, 0.1, 1, 2
SOURCES = [[4, 7, 3, 9, 2], [5, 2], [10, 6, 8, 2]]
TARGETS = [[6, 3, 8], [9, 4, 10, 5, 7], []]
GRADIENTS = ["embed_tokens.weight", "encoder.layers.0.self_attn.qkv_proj.weight", "encoder.layers.1.fc1.bias",
             "decoder.layers.0.self_attn.qkv_proj.weight", "decoder.layers.1.encoder_attn.kv_proj.weight",
             "decoder.layers.0.encoder_attn_layer_norm.weight", "decoder.layers.1.fc2.bias"]


def make_weights():
    generator = torch.Generator().manual_seed(7)
    w = {}

    def draw(name, *shape, mean=0.0):
        w[name] = ((torch.randn(*shape, generator=generator) * 0.3 + mean) * 1e4).round() / 1e4

    def linear(name, out, into):
        draw(name + ".weight", out, into)
        draw(name + ".bias", out)

    def norm(name):
        draw(name + ".weight", D, mean=1.0)
        draw(name + ".bias", D)

    def join(name, projections):  # fuse projections of the same rows into one matrix
        for part in ("weight", "bias"):
            w[f"{name}.{projections}_proj.{part}"] = torch.cat([w.pop(f"{name}.{p}_proj.{part}") for p in projections])

    draw("embed_tokens.weight", V, D)
    for stack, attentions in (("encoder", {"self_attn": "qkv"}), ("decoder", {"self_attn": "qkv", "encoder_attn": "kv"})):
        for i in range(LAYERS):
            layer = f"{stack}.layers.{i}"
            for attention, joined in attentions.items():
                for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    linear(f"{layer}.{attention}.{projection}", D, D)
                join(f"{layer}.{attention}", joined)
                norm(f"{layer}.{attention}_layer_norm")
            linear(f"{layer}.fc1", FFN, D)
            linear(f"{layer}.fc2", D, FFN)
            norm(f"{layer}.final_layer_norm")
        norm(f"{stack}.layer_norm")  # used by pre-norm only
    return w


class Model:
    def __init__(self, weights, norm, position):
        self.w = {name: value.clone().requires_grad_() for name, value in weights.items()}
        self.pre, self.position = norm == "pre", position

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, (D,), self.w[name + ".weight"], self.w[name + ".bias"], EPS)

    def embed(self, ids):
        x = self.w["embed_tokens.weight"][ids] * math.sqrt(D)
        if self.position == "sinusoidal":  # fairseq's layout, positions from 0
            half = D // 2
            frequency = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
            angle = torch.arange(len(ids)).double()[:, None] * frequency
            x = x + torch.cat([angle.sin(), angle.cos()], dim=1)
        return x

    def rotate(self, x):  # (n, heads, width) as complex numbers: interleaved pairs
        width = D // H
        frequency = 10000.0 ** (-2 * torch.arange(width // 2).double() / width)
        turn = torch.polar(torch.ones(1, 1), torch.arange(len(x)).double()[:, None] * frequency)[:, None]
        pairs = torch.view_as_complex(x.reshape(len(x), H, width // 2, 2).contiguous())
        return torch.view_as_real(pairs * turn).reshape(len(x), H, width)

    def attention(self, x, memory, name, causal):
        split = lambda t: t.reshape(len(t), H, D // H)
        if name.endswith("self_attn"):
            q, k, v = map(split, self.linear(x, f"{name}.qkv_proj").chunk(3, dim=-1))
        else:
            q = split(self.linear(x, f"{name}.q_proj"))
            k, v = map(split, self.linear(memory, f"{name}.kv_proj").chunk(2, dim=-1))
        if self.position == "rope" and name.endswith("self_attn"):
            q, k = self.rotate(q), self.rotate(k)
        scores = torch.einsum("qhc,khc->hqk", q, k) / math.sqrt(D // H)
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        out = torch.einsum("hqk,khc->qhc", scores.softmax(-1), v).reshape(len(x), D)
        return self.linear(out, f"{name}.out_proj")

    def branch(self, x, norm_name, f):
        return x + f(self.norm(x, norm_name)) if self.pre else self.norm(x + f(x), norm_name)

    def ffn(self, x, layer):
        return self.branch(x, f"{layer}.final_layer_norm",
                           lambda h: self.linear(F.relu(self.linear(h, f"{layer}.fc1")), f"{layer}.fc2"))

    def logits(self, source, inputs):
        memory = self.embed(source)
        for i in range(LAYERS):
            layer = f"encoder.layers.{i}"
            memory = self.branch(memory, f"{layer}.self_attn_layer_norm",
                                 lambda h: self.attention(h, h, f"{layer}.self_attn", False))
            memory = self.ffn(memory, layer)
        if self.pre:
            memory = self.norm(memory, "encoder.layer_norm")
        x = self.embed(inputs)
        for i in range(LAYERS):
            layer = f"decoder.layers.{i}"
            x = self.branch(x, f"{layer}.self_attn_layer_norm",
                            lambda h: self.attention(h, h, f"{layer}.self_attn", True))
            x = self.branch(x, f"{layer}.encoder_attn_layer_norm",
                            lambda h: self.attention(h, memory, f"{layer}.encoder_attn", False))
            x = self.ffn(x, layer)
        if self.pre:
            x = self.norm(x, "decoder.layer_norm")
        return x @ self.w["embed_tokens.weight"].T


def numbers(tensor):
    return [float(f"{x:.9g}") for x in tensor.detach().flatten().tolist()]


def variant(weights, norm, position):
    model = Model(weights, norm, position)
    logits = torch.cat([model.logits(torch.tensor(s), torch.tensor([BOS] + t)) for s, t in zip(SOURCES, TARGETS)])
    outputs = torch.tensor([token for t in TARGETS for token in t + [EOS]])
    loss = F.cross_entropy(logits, outputs, reduction="sum", label_smoothing=SMOOTHING)
    loss.backward()
    return {"norm": norm, "position": position, "loss": loss.item(),
            "nll": F.cross_entropy(logits, outputs, reduction="sum").item(),
            "logits": numbers(logits), "gradients": {name: numbers(model.w[name].grad) for name in GRADIENTS}}


def main():
    weights = make_weights()
    golden = {"config": {"vocab_size": V, "dim": D, "ffn": FFN, "heads": H, "encoder_layers": LAYERS,
                         "decoder_layers": LAYERS, "layer_norm_epsilon": EPS},
              "smoothing": SMOOTHING, "bos": BOS, "eos": EOS, "sources": SOURCES, "targets": TARGETS,
              "weights": {name: numbers(value) for name, value in weights.items()},
              "variants": [variant(weights, norm, position)
                           for norm in ("pre", "post") for position in ("rope", "sinusoidal")]}
    path = pathlib.Path(__file__).with_name("encoder_decoder.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
