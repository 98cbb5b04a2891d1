"""The workloads of `gyre bench step` (tools/bench/models.h) in PyTorch, with the same models, shapes, numbers of
tokens and order of batches. Sentences of unequal length are padded. Padding is not masked, which saves PyTorch work.

A workload is a module with batch(step), which creates tensors and counts their tokens, and loss(*tensors).
"""
import torch
import torch.nn.functional as F
from torch import nn

CPU_PRESETS = ["mlm-small", "nmt-base", "multi30k-tiny", "llama-tiny", "llama-160m"]
GPU_PRESETS = ["nmt-base-25k", "nmt-big-25k", "mlm-base-32k", "llama-160m-32k"]


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
    """Cosines and sines, one row per position."""
    frequencies = 10000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * frequencies
    return torch.stack((angles.cos(), angles.sin()))


def rotate(x, angles):
    cos, sin = angles[:, : x.shape[-2]]
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Layer(nn.Module):
    """Post-norm layer of an encoder, or of a decoder if `cross` is set."""

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


class Workload(nn.Module):
    def __init__(self, vocabulary, dim, heads, longest):
        super().__init__()
        self.vocabulary, self.dim = vocabulary, dim
        self.table = nn.Embedding(vocabulary, dim)
        self.register_buffer("angles", rope_angles(longest, dim // heads), persistent=False)

    def device(self):
        return self.table.weight.device

    def positions(self, ids, *_):
        """Number of positions that are computed for a batch."""
        return ids.numel()


class MaskedLanguage(Workload):
    varies = False

    def __init__(self, vocabulary, dim, heads, ffn, layers, segments, length):
        super().__init__(vocabulary, dim, heads, length)
        self.shape = segments, length
        self.encoder = nn.ModuleList(Layer(dim, heads, ffn, 0.1, F.gelu) for _ in range(layers))
        self.dense, self.norm = nn.Linear(dim, dim), nn.LayerNorm(dim)

    def optimizer(self, **how):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, **how)

    def batch(self, step):
        ids = torch.randint(0, self.vocabulary, self.shape, device=self.device())
        masked = torch.rand(self.shape, device=self.device()) < 0.15
        rows = masked.flatten().nonzero().flatten()
        return (ids.masked_fill(masked, 3), rows, ids.flatten()[rows]), ids.numel()

    def loss(self, ids, rows, targets):
        x = self.table(ids)
        for layer in self.encoder:
            x = layer(x, self.angles)
        x = self.norm(F.gelu(self.dense(x.flatten(0, 1)[rows])))
        return F.cross_entropy((x @ self.table.weight.T).float(), targets)


class Translation(Workload):
    def __init__(self, vocabulary, dim, heads, ffn, layers, dropout, batches):
        super().__init__(vocabulary, dim, heads, max(max(pair) for batch in batches for pair in batch))
        self.batches, self.varies = batches, len(batches) > 1
        self.encoder = nn.ModuleList(Layer(dim, heads, ffn, dropout, F.relu) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(dim, heads, ffn, dropout, F.relu, cross=True) for _ in range(layers))

    def optimizer(self, **how):
        return torch.optim.Adam(self.parameters(), lr=1e-4, betas=(0.9, 0.98), **how)

    def padded(self, lengths):
        ids = torch.randint(1, self.vocabulary, (len(lengths), max(lengths)), device=self.device())
        lengths = torch.tensor(lengths, device=self.device())
        return ids.masked_fill(torch.arange(ids.shape[1], device=self.device()) >= lengths[:, None], 0)

    def positions(self, source, target):
        return source.numel() + target[:, 1:].numel()

    def batch(self, step):
        pairs = self.batches[step % len(self.batches)]
        source = self.padded([s for s, _ in pairs])
        target = self.padded([t + 1 for _, t in pairs])  # beginning of sentence, words, end of sentence
        return (source, target), sum(map(sum, pairs))

    def loss(self, source, target):
        x = self.table(source) * self.dim**0.5
        for layer in self.encoder:
            x = layer(x, self.angles)
        y = self.table(target[:, :-1]) * self.dim**0.5
        for layer in self.decoder:
            y = layer(y, self.angles, x)
        logits = (y @ self.table.weight.T).float().flatten(0, 1)
        return F.cross_entropy(logits, target[:, 1:].flatten(), label_smoothing=0.1, ignore_index=0)


class LlamaLayer(nn.Module):
    def __init__(self, dim, heads, kv_heads, ffn):
        super().__init__()
        self.width = dim // heads
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim, eps=1e-6), nn.RMSNorm(dim, eps=1e-6)
        self.q, self.out = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.k, self.v = (nn.Linear(dim, kv_heads * self.width, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(dim, ffn, bias=False), nn.Linear(dim, ffn, bias=False)
        self.down = nn.Linear(ffn, dim, bias=False)

    def split(self, x):
        return x.unflatten(-1, (-1, self.width)).transpose(1, 2)

    def forward(self, x, angles):
        y = self.attention_norm(x)
        q, k, v = rotate(self.split(self.q(y)), angles), rotate(self.split(self.k(y)), angles), self.split(self.v(y))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=k.shape[1] != q.shape[1])
        x = x + self.out(y.transpose(1, 2).flatten(2))
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class CausalLanguage(Workload):
    varies = False

    def __init__(self, vocabulary, dim, heads, kv_heads, ffn, layers, tied, segments, length):
        super().__init__(vocabulary, dim, heads, length)
        self.shape = segments, length
        self.layers = nn.ModuleList(LlamaLayer(dim, heads, kv_heads, ffn) for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(dim, eps=1e-6), nn.Linear(dim, vocabulary, bias=False)
        if tied:
            self.output.weight = self.table.weight

    def optimizer(self, **how):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, betas=(0.9, 0.95), **how)

    def batch(self, step):
        segments, length = self.shape
        ids = torch.randint(0, self.vocabulary, (segments, length + 1), device=self.device())
        return (ids[:, :-1], ids[:, 1:].flatten()), segments * length

    def loss(self, ids, targets):
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x, self.angles)
        return F.cross_entropy(self.output(self.norm(x)).float().flatten(0, 1), targets)


def mix(a, b):
    """Same as mix() in core/random.h."""
    z = (a + 0x9E3779B97F4A7C15 * (b + 1)) & (2**64 - 1)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (2**64 - 1)
    return z ^ (z >> 31)


def token_batches(prefix, tokens=4096):
    """Same as in tools/workload/workload.h: (source, target) lengths count words and the end of sentence."""
    with open(prefix + ".en", "rb") as source, open(prefix + ".de", "rb") as target:
        pairs = sorted((len(s.split()) + 1, len(t.split()) + 1) for s, t in zip(source, target, strict=True))
    batches, batch = [], []
    for pair in pairs:
        batch.append(pair)
        if max(map(max, batch)) * len(batch) >= tokens:
            batches.append(batch)
            batch = []
    return [batches[i] for i in sorted(range(len(batches)), key=lambda i: mix(0, i))]


def random_batches(batches, pairs):
    """Same as in tools/workload/workload.h."""
    return [[(25 + mix(b, 2 * i) % 11, 25 + mix(b, 2 * i + 1) % 11) for i in range(pairs)] for b in range(batches)]


def make_workload(preset, text=None):
    if preset == "mlm-small":
        return MaskedLanguage(8192, 256, 4, 1024, 4, 16, 256)
    if preset == "mlm-base-32k":
        return MaskedLanguage(30522, 768, 12, 3072, 12, 64, 512)
    if preset == "llama-tiny":
        return CausalLanguage(8192, 384, 6, 2, 1024, 6, True, 8, 512)
    if preset == "llama-160m":
        return CausalLanguage(32000, 768, 12, 12, 3072, 12, False, 2, 512)
    if preset == "llama-160m-32k":
        return CausalLanguage(32000, 768, 12, 12, 3072, 12, False, 32, 1024)
    if preset == "nmt-base":
        return Translation(32768, 512, 8, 2048, 6, 0.1, [[(32, 32)] * 16])
    if preset == "nmt-base-25k":
        return Translation(32768, 512, 8, 2048, 6, 0.1, random_batches(4, 833))
    if preset == "nmt-big-25k":
        return Translation(32768, 1024, 16, 4096, 6, 0.3, random_batches(4, 833))
    return Translation(10000, 128, 4, 256, 4, 0.3, token_batches(text))
