"""The workloads of `gyre bench step` in PyTorch on the CPU, eager, for tools/bench/compare_torch.sh.

The same shapes, numbers of tokens and order of batches. Sentences of unequal length are padded, and padding is not
masked: PyTorch is spared that work. Prints one JSON object; peak_rss_mb is in MiB.
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, angles=None, causal=False):
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        if angles is not None:
            q, k = rotate(q, angles), rotate(k, angles)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.transpose(1, 2).flatten(2))


def rope_angles(length, width):
    frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * frequencies
    return angles.cos(), angles.sin()


def rotate(x, angles):
    cos, sin = (a[: x.shape[-2]] for a in angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Layer(nn.Module):
    """Post-norm; with `cross` a layer of a decoder."""

    def __init__(self, dim, heads, ffn, dropout, activation, cross=False):
        super().__init__()
        self.self_attention, self.self_norm = Attention(dim, heads), nn.LayerNorm(dim)
        self.cross_attention = Attention(dim, heads) if cross else None
        self.cross_norm = nn.LayerNorm(dim) if cross else None
        self.fc1, self.fc2, self.ffn_norm = nn.Linear(dim, ffn), nn.Linear(ffn, dim), nn.LayerNorm(dim)
        self.dropout, self.activation = nn.Dropout(dropout), activation

    def forward(self, x, angles, memory=None):
        causal = memory is not None
        x = self.self_norm(x + self.dropout(self.self_attention(x, x, angles, causal)))
        if causal:
            x = self.cross_norm(x + self.dropout(self.cross_attention(x, memory)))
        return self.ffn_norm(x + self.dropout(self.fc2(self.activation(self.fc1(x)))))


class MaskedLanguage(nn.Module):
    vocabulary, dim, heads, ffn, layers, segments, length = 8192, 256, 4, 1024, 4, 16, 256

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(self.vocabulary, self.dim)
        self.encoder = nn.ModuleList(
            Layer(self.dim, self.heads, self.ffn, 0.1, F.gelu) for _ in range(self.layers))
        self.dense, self.norm = nn.Linear(self.dim, self.dim), nn.LayerNorm(self.dim)
        self.angles = rope_angles(self.length, self.dim // self.heads)

    def optimizer(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4)

    def loss(self, step):
        """The loss and the number of tokens."""
        ids = torch.randint(0, self.vocabulary, (self.segments, self.length))
        masked = torch.rand(self.segments, self.length) < 0.15
        x = self.table(ids.masked_fill(masked, 3))
        for layer in self.encoder:
            x = layer(x, self.angles)
        x = self.norm(F.gelu(self.dense(x[masked])))
        return F.cross_entropy((x @ self.table.weight.T).float(), ids[masked]), ids.numel()


class Translation(nn.Module):
    def __init__(self, vocabulary, dim, heads, ffn, layers, dropout, batches):
        super().__init__()
        self.vocabulary, self.dim, self.batches = vocabulary, dim, batches
        self.table = nn.Embedding(vocabulary, dim)
        self.encoder = nn.ModuleList(Layer(dim, heads, ffn, dropout, F.relu) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(dim, heads, ffn, dropout, F.relu, cross=True) for _ in range(layers))
        self.angles = rope_angles(max(max(pair) for batch in batches for pair in batch), dim // heads)

    def optimizer(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4, betas=(0.9, 0.98))

    def padded(self, lengths):
        ids = torch.randint(1, self.vocabulary, (len(lengths), max(lengths)))
        return ids.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], 0)

    def loss(self, step):
        batch = self.batches[step % len(self.batches)]
        source = self.padded([s for s, _ in batch])
        target = self.padded([t + 1 for _, t in batch])  # begin of the sentence, words, end
        x = self.table(source) * self.dim**0.5
        for layer in self.encoder:
            x = layer(x, self.angles)
        y = self.table(target[:, :-1]) * self.dim**0.5
        for layer in self.decoder:
            y = layer(y, self.angles, x)
        logits = (y @ self.table.weight.T).float().flatten(0, 1)
        loss = F.cross_entropy(logits, target[:, 1:].flatten(), label_smoothing=0.1, ignore_index=0)
        return loss, sum(map(sum, batch))


def mix(a, b):
    """core/random.h's."""
    z = (a + 0x9E3779B97F4A7C15 * (b + 1)) & (2**64 - 1)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (2**64 - 1)
    return z ^ (z >> 31)


def token_batches(prefix, tokens=4096):
    """tools/bench/text_lengths.h's: (source, target) lengths, words and the end of the sentence."""
    with open(prefix + ".en", "rb") as source, open(prefix + ".de", "rb") as target:
        pairs = sorted((len(s.split()) + 1, len(t.split()) + 1) for s, t in zip(source, target, strict=True))
    batches, batch = [], []
    for pair in pairs:
        batch.append(pair)
        if max(map(max, batch)) * len(batch) >= tokens:
            batches.append(batch)
            batch = []
    return [batches[i] for i in sorted(range(len(batches)), key=lambda i: mix(0, i))]


def make_model(preset, text):
    if preset == "mlm-small":
        return MaskedLanguage()
    if preset == "nmt-base":
        return Translation(32768, 512, 8, 2048, 6, 0.1, [[(32, 32)] * 16])
    return Translation(10000, 128, 4, 256, 4, 0.3, token_batches(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=["mlm-small", "nmt-base", "multi30k-tiny"], default="nmt-base")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--text", metavar="PREFIX", help="multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de")
    options = parser.parse_args()
    if options.preset == "multi30k-tiny" and not options.text:
        parser.error("multi30k-tiny needs --text")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = make_model(options.preset, options.text)
    optimizer = model.optimizer()
    seconds, tokens, warm_up = [], 0, 2
    for step in range(warm_up + options.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss, count = model.loss(step)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= warm_up:
            seconds.append(time.perf_counter() - start)
            tokens += count
    median = statistics.median(seconds)
    varies = isinstance(model, Translation) and len(model.batches) > 1
    per_second = tokens / sum(seconds) if varies else tokens / len(seconds) / median
    print(json.dumps({"torch": torch.__version__, "preset": options.preset, "precision": options.precision,
                      "threads": options.threads, "parameters": sum(p.numel() for p in model.parameters()),
                      "tokens_per_second": round(per_second, 1), "step_ms": round(1e3 * median, 2),
                      "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)},
                     separators=(",", ":")))


if __name__ == "__main__":
    main()
