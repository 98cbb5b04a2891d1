"""Golden values of every position encoding, from its formula in plain PyTorch, with a loop over pairs of tokens.

A self-attention with two heads runs on a batch x of two sentences, plus the position embeddings. Each encoding is a
class with the score and the value of a pair of tokens; everything else is shared. Writes positions/<encoding>.json next
to this script, for the encodings given as arguments (default: all).
"""
import json
import math
import pathlib
import sys

import torch

D, H = 8, 2
W = D // H
LENGTHS = [7, 3]
N = sum(LENGTHS)


def draw(generator, *shape, scale=0.6):
    return ((torch.randn(*shape, generator=generator, dtype=torch.float64) * scale * 1e4).round() / 1e4)


def numbers(t):
    return [float(f"{v:.12g}") for v in t.detach().reshape(-1).tolist()]


class Encoding:
    """A variant of an encoding: options c, parameters p and causality, and the hooks that encodings override."""

    scale = 1 / math.sqrt(W)

    def __init__(self, config, causal, generator):
        self.c, self.causal = config, causal
        self.p = {name: draw(generator, *shape).requires_grad_() for name, shape in self.shapes().items()}

    def shapes(self):
        return {}

    def embedding(self, place):
        return torch.zeros(D, dtype=torch.float64)

    # Query vector q (W) at position m, key and value vectors k, v (W) at position n, head h.
    def score(self, q, k, m, n, h):
        return self.scale * q @ k

    def value(self, v, m, n):
        return v


class Sinusoidal(Encoding):
    def embedding(self, p):
        half = D // 2
        if self.c.get("sinusoid_layout") == "interleaved":
            rows = [(math.sin, math.cos)[i % 2](p / 10000 ** (2 * (i // 2) / D)) for i in range(D)]
        else:
            steps = half if self.c.get("sinusoid_layout") == "transformers" else half - 1
            w = [10000 ** (-i / steps) for i in range(half)]
            rows = [math.sin(p * f) for f in w] + [math.cos(p * f) for f in w]
        return torch.tensor(rows, dtype=torch.float64)


class Learned(Encoding):
    def shapes(self):
        return {"p.weight": (self.c["max_positions"], D)}

    def embedding(self, place):
        return self.p["p.weight"][place]


class Rope(Encoding):
    def shapes(self):
        return {"p.frequency_offsets": (self.dims() // 2,)} if self.c.get("rope_learnable") else {}

    def dims(self):
        return self.c.get("rotary_dims") or W

    def frequencies(self):
        """Su et al. 2021; NTK-aware; Peng et al. 2023, appendix A."""
        dims, base, s = self.dims(), self.c.get("rope_base", 10000), self.c.get("rope_scaling_factor", 1)
        kind, length = self.c.get("rope_scaling", "none"), self.c.get("rope_original_length", 512)
        if kind == "ntk":
            base *= s ** (dims / (dims - 2))
        theta = [base ** (-2 * j / dims) for j in range(dims // 2)]
        if kind == "yarn":
            def pair(turns):
                return dims * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))
            low, high = max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), dims - 1)
            ramp = [min(max((j - low) / max(high - low, 0.001), 0), 1) for j in range(dims // 2)]
            theta = [t * (1 - r) + t / s * r for t, r in zip(theta, ramp)]
        theta = torch.tensor(theta, dtype=torch.float64)
        return theta + self.p["p.frequency_offsets"] if self.p else theta

    def turned(self, x, place):
        dims, half = self.dims(), self.dims() // 2
        s = self.c.get("rope_scaling_factor", 1)
        kind = self.c.get("rope_scaling", "none")
        place = place * self.c.get("rope_step", 1) / (s if kind == "linear" else 1)
        magnitude = 0.1 * math.log(s) + 1 if kind == "yarn" else 1
        angle = place * self.frequencies()
        y = list(x)
        for j in range(half):
            a, b = (j, j + half) if self.c.get("rope_pairs") == "half-split" else (2 * j, 2 * j + 1)
            y[a] = magnitude * (x[a] * torch.cos(angle[j]) - x[b] * torch.sin(angle[j]))
            y[b] = magnitude * (x[a] * torch.sin(angle[j]) + x[b] * torch.cos(angle[j]))
        return torch.stack(y)

    def score(self, q, k, m, n, h):
        return self.scale * self.turned(q, m) @ self.turned(k, n)


class Shaw(Encoding):
    """Shaw et al. 2018, eq. 3-5."""

    def shapes(self):
        shape = (2 * self.c["shaw_clip"] + 1, W)
        names = ["keys", "values"] if self.c.get("shaw_values", True) else ["keys"]
        return {f"p.layers.0.{name}.weight": shape for name in names}

    def row(self, name, m, n):
        clip = self.c["shaw_clip"]
        return self.p[f"p.layers.0.{name}.weight"][max(-clip, min(clip, n - m)) + clip]

    def score(self, q, k, m, n, h):
        return q @ (k + self.row("keys", m, n)) * self.scale

    def value(self, v, m, n):
        return v + self.row("values", m, n) if self.c.get("shaw_values", True) else v


class Nezha(Encoding):
    """Wei et al. 2019, 3.2."""

    def row(self, m, n):
        clip = self.c["nezha_clip"]
        place = max(-clip, min(clip, n - m)) + clip
        return torch.tensor([(math.sin, math.cos)[i % 2](place / 10000 ** (2 * (i // 2) / W)) for i in range(W)],
                            dtype=torch.float64)

    def score(self, q, k, m, n, h):
        return q @ (k + self.row(m, n)) * self.scale

    def value(self, v, m, n):
        return v + self.row(m, n)


class TransformerXl(Encoding):
    """Dai et al. 2019, 3.3, where u is the bias of the queries and v is u plus the learned difference."""

    def shapes(self):
        return {"p.layers.0.r_proj.weight": (D, D), "p.layers.0.v_minus_u": (D,)}

    def score(self, q, k, m, n, h):
        heads = slice(h * W, (h + 1) * W)
        u = self.query_bias[heads]
        v = u + self.p["p.layers.0.v_minus_u"][heads]
        query = q - u
        w = [10000 ** (-2 * i / D) for i in range(D // 2)]
        r = torch.tensor([math.sin((m - n) * f) for f in w] + [math.cos((m - n) * f) for f in w], dtype=torch.float64)
        r = (self.p["p.layers.0.r_proj.weight"] @ r)[heads]
        return ((query + u) @ k + (query + v) @ r) * self.scale


def bucket(t, buckets, max_distance, causal):
    """The bucket of distance t = key - query, as in T5."""
    ahead = 0
    if causal:
        x = max(-t, 0)
    else:
        buckets //= 2
        ahead = buckets if t > 0 else 0
        x = abs(t)
    exact = buckets // 2
    if x < exact:
        return ahead + x
    return ahead + min(exact + int(math.log(x / exact) / math.log(max_distance / exact) * (buckets - exact)), buckets - 1)


class T5(Encoding):
    def shapes(self):
        return {"p.bias": (self.c["bias_buckets"], H)}

    def bias(self, m, n, h):
        return self.p["p.bias"][bucket(n - m, self.c["bias_buckets"], self.c["bias_max_distance"], self.causal), h]

    def score(self, q, k, m, n, h):
        return q @ k * self.scale + self.bias(m, n, h)


class Tupe(T5):
    """Su et al. 2021, eq. 9."""

    def shapes(self):
        own = {"p.weight": (self.c["max_positions"], D), "p.q_proj.weight": (D, D), "p.k_proj.weight": (D, D)}
        return {**own, **(super().shapes() if self.c.get("tupe_bias", True) else {})}

    def score(self, q, k, m, n, h):
        heads, p = slice(h * W, (h + 1) * W), self.p["p.weight"]
        places = (self.p["p.q_proj.weight"] @ p[m])[heads] @ (self.p["p.k_proj.weight"] @ p[n])[heads]
        e = (q @ k + places) / math.sqrt(2 * W)
        return e + self.bias(m, n, h) if self.c.get("tupe_bias", True) else e


class Deberta(Encoding):
    """He et al. 2021, eq. 2-4."""

    def shapes(self):
        return {"p.weight": (2 * self.c["deberta_clip"], D), "p.layers.0.k_proj.weight": (D, D),
                "p.layers.0.q_proj.weight": (D, D)}

    def delta(self, i, j):
        k = self.c["deberta_clip"]
        return 0 if i - j <= -k else 2 * k - 1 if i - j >= k else i - j + k

    def score(self, q, k, m, n, h):
        heads, p = slice(h * W, (h + 1) * W), self.p["p.weight"]
        key = (self.p["p.layers.0.k_proj.weight"] @ p[self.delta(m, n)])[heads]
        query = (self.p["p.layers.0.q_proj.weight"] @ p[self.delta(n, m)])[heads]
        return (q @ k + q @ key + k @ query) / math.sqrt(3 * W)


class Alibi(Encoding):
    """Press et al. 2022, two heads: 2^-4 and 2^-8."""

    def score(self, q, k, m, n, h):
        return q @ k * self.scale - 2.0 ** (-4 * (h + 1)) * abs(m - n)


class Wavelet(Encoding):
    """Oka et al. 2025, eq. 10-15."""

    def score(self, q, k, m, n, h):
        x = n - m if self.c.get("wavelet_time", "key-minus-query") == "key-minus-query" else m - n
        row = []
        for a in self.c["wavelet_scales"]:
            for b in self.c["wavelet_shifts"]:
                u = (x - b) / a
                row.append({"ricker": (1 - u ** 2) * math.exp(-u ** 2 / 2), "gaussian": math.exp(-u ** 2),
                            "morlet": math.exp(-u ** 2) * math.cos(x - b),
                            "haar": 1 if -0.5 <= u < 0 else -1 if -1 <= u < -0.5 else 0}[self.c["wavelet"]])
        return (q @ k + q @ torch.tensor(row, dtype=torch.float64)) * self.scale


def attention(encoding, x, w, b):
    """Self-attention over each sentence; w (3D, D) and b (3D) give [queries | keys | values]."""
    encoding.query_bias = b[:D]
    out = []
    begin = 0
    for length in LENGTHS:
        rows = torch.stack([x[begin + i] + encoding.embedding(i) for i in range(length)])
        q, k, v = (rows @ w.T + b).split(D, dim=1)
        for m in range(length):
            heads = []
            for h in range(H):
                part = slice(h * W, (h + 1) * W)
                seen = range(m + 1 if encoding.causal else length)
                scores = torch.stack([encoding.score(q[m, part], k[n, part], m, n, h) for n in seen])
                values = torch.stack([encoding.value(v[n, part], m, n) for n in seen])
                heads.append(torch.softmax(scores, 0) @ values)
            out.append(torch.cat(heads))
        begin += length
    return torch.stack(out)


def frequencies_of(options):
    """Frequencies and magnitude of scaled RoPE by transformers, for {scaling, factor, original length, width}."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    width, factor, length = options["width"], options["factor"], options["original_length"]
    rope = {"rope_type": options["scaling"], "factor": factor, "rope_theta": 10000.0}
    if options["scaling"] == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if options["scaling"] != "linear":
        rope["original_max_position_embeddings"] = length
    config = LlamaConfig(hidden_size=4 * width, num_attention_heads=4, head_dim=width, rope_theta=10000.0,
                         max_position_embeddings=length, rope_scaling=rope)
    config.rope_parameters = rope
    frequencies, magnitude = ROPE_INIT_FUNCTIONS[options["scaling"]](config, "cpu")
    return {**options, "frequencies": numbers(frequencies), "magnitude": float(magnitude)}


def buckets_of(options):
    """The buckets of the distances first, first + 1, .. by transformers."""
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(options["first"], -options["first"] + 1)
    values = T5Attention._relative_position_bucket(distances, not options["causal"], options["buckets"],
                                                   options["max_distance"])
    return {**options, "values": values.tolist()}


def wavelets(kind, time="key-minus-query"):
    return {"wavelet": kind, "wavelet_scales": [1.5, 4], "wavelet_shifts": [-1, 2], "wavelet_time": time}


BUCKETS = {"bias_buckets": 8, "bias_max_distance": 6}
ROPE = [{}, {"rope_pairs": "half-split", "rope_base": 100, "rope_step": 0.3, "rope_learnable": True},
        {"rotary_dims": 2, "rope_scaling": "linear", "rope_scaling_factor": 4},
        {"rope_scaling": "ntk", "rope_scaling_factor": 8},
        {"rope_scaling": "yarn", "rope_scaling_factor": 4, "rope_base": 50, "rope_original_length": 64}]
LONGER = [{"scaling": kind, "factor": 4.0, "original_length": length, "width": width}
          for kind, length, width in (("linear", 512, 64), ("yarn", 512, 64), ("yarn", 4096, 128), ("yarn", 32, 16),
                                      ("llama3", 8192, 128), ("llama3", 64, 16))]
BUCKETED = [{"buckets": buckets, "max_distance": largest, "causal": causal, "first": -300}
            for buckets, largest in ((32, 128), (6, 20)) for causal in (False, True)]
# The class of each encoding and the options of its variants. Each variant is written causal and non-causal.
ENCODINGS = {
    "none": (Encoding, [{}]),
    "sinusoidal": (Sinusoidal, [{"max_positions": 16}, {"max_positions": 16, "sinusoid_layout": "interleaved"},
                                {"max_positions": 16, "sinusoid_layout": "transformers"}]),
    "learned": (Learned, [{"max_positions": 9}]),
    "rope": (Rope, ROPE),
    "shaw": (Shaw, [{"shaw_clip": 2}, {"shaw_clip": 9, "shaw_values": False}]),
    "nezha": (Nezha, [{"nezha_clip": 2}, {"nezha_clip": 64}]),
    "xl": (TransformerXl, [{}]),
    "t5": (T5, [BUCKETS]),
    "tupe": (Tupe, [{"max_positions": 7, **BUCKETS}, {"max_positions": 9, "tupe_bias": False}]),
    "deberta": (Deberta, [{"deberta_clip": 3}, {"deberta_clip": 8}]),
    "alibi": (Alibi, [{}]),
    "wavelet": (Wavelet, [wavelets("ricker"), wavelets("gaussian", "query-minus-key"), wavelets("morlet"),
                          wavelets("haar"), wavelets("haar", "query-minus-key")]),
}


def variant(kind, config, causal, inputs, generator):
    x, w, b = (t.clone().requires_grad_() for t in inputs[:3])
    encoding = kind(config, causal, generator)
    out = attention(encoding, x, w, b)
    out.backward(inputs[3])
    return {"position": config, "causal": causal, "out": numbers(out), "dx": numbers(x.grad), "db": numbers(b.grad),
            "parameters": {name: numbers(p) for name, p in encoding.p.items()},
            "gradients": {name: numbers(p.grad) for name, p in encoding.p.items()}}


def main():
    folder = pathlib.Path(__file__).with_name("positions")
    for name in sys.argv[1:] or ENCODINGS:
        kind, configs = ENCODINGS[name]
        generator = torch.Generator().manual_seed(17)
        inputs = [draw(generator, N, D, scale=1), draw(generator, 3 * D, D), draw(generator, 3 * D),
                  draw(generator, N, D, scale=1)]
        golden = {"lengths": LENGTHS, "heads": H, **{n: numbers(t) for n, t in zip(("x", "w", "b", "dout"), inputs)},
                  "variants": [variant(kind, {"encoding": name, **config}, causal, inputs, generator)
                               for config in configs for causal in (False, True)]}
        if name == "rope":
            golden["longer"] = [frequencies_of(options) for options in LONGER]
        if name == "t5":
            golden["buckets"] = [buckets_of(options) for options in BUCKETED]
        (folder / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
