"""Writes ops.json for tests/autograd/golden_test.cpp: outputs of rows of the op table (autograd/gradcheck/op_cases),
computed by independent implementations: PyTorch in float64, rotary embedding as a product of complex numbers, Philox
from its paper. Inputs are those of the rows. Gradients need no golden values: the tests compare them with the composed
definitions and with finite differences.

    python make_golden.py        # needs torch; ops.json is committed, so the tests need no Python
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

TAPE_SEED = 20240607  # kOpCaseTape, whose first dropout mask has stream 0


def philox(seed, stream, counter):
    """Philox4x32-10, Salmon et al. 2011: key = seed, counter = (counter, stream)."""
    mask = 0xFFFFFFFF
    c = [counter & mask, counter >> 32, stream & mask, stream >> 32]
    k = [seed & mask, seed >> 32]
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(high >> 32) ^ c[1] ^ k[0], high & mask, (low >> 32) ^ c[3] ^ k[1], low & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


# Known-answer tests from Random123, the reference implementation of Philox.
assert philox(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox(2**64 - 1, 2**64 - 1, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def normal(seed, stream, *shape):
    """normal_tensor() of autograd/gradcheck: Box-Muller."""
    numbers = []
    for i in range(math.prod(shape)):
        w = philox(seed, stream, i)
        numbers.append(math.sqrt(-2 * math.log((w[0] + 1) / 2**32)) * math.cos(2 * math.pi * w[1] / 2**32))
    return torch.tensor(numbers).view(shape)


def hash_name(name):
    """FNV-1a, as in core/random.h."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def random_ids(n, limit, ignored=False):
    """random_ids() and loss_targets() of the op table."""
    ids = []
    for i in range(n):
        w = philox(n, limit, i)
        ids.append(((w[0] << 32 | w[1]) * limit) >> 64)
    return torch.tensor([-1 if ignored and i % 3 == 0 else id for i, id in enumerate(ids)])


def dropout_mask(rate, *shape):
    n = math.prod(shape)
    words = [w for block in range((n + 3) // 4) for w in philox(TAPE_SEED, 0, block)][:n]
    return torch.tensor([float(w >= rate * 2**32) for w in words]).view(shape) / (1 - rate)


SAMPLES = 64


def row(name, inputs, function):
    """A row with inputs (name, shape, deviation, mean) or (name, shape). The file has a sample of the output: elements
    at equal distances, an odd number."""
    tensors = []
    for input_name, shape, *moments in inputs:
        deviation, mean = moments + [1, 0][len(moments):]
        tensors.append(mean + deviation * normal(hash_name(name), hash_name(input_name), *shape))
    output = function(*tensors).flatten()
    distance = -(-output.numel() // SAMPLES) | 1
    return {"row": name, "elements": output.numel(), "distance": distance, "output": output[::distance].tolist()}



def rope(heads, dims, width, positions, half_split=False, magnitude=1.0, step=1.0):
    """Each pair of features is a complex number, multiplied by magnitude * exp(i * step * position * frequency)."""

    def function(x, frequencies):
        x = x.unflatten(-1, (heads, width))
        rotated, tail = x[..., :dims], x[..., dims:]
        pairs = rotated.unflatten(-1, (2, dims // 2)).transpose(-1, -2) if half_split else rotated.unflatten(-1, (dims // 2, 2))
        angles = step * torch.tensor(positions, dtype=torch.float64)[:, None] * frequencies[None, :]
        turn = torch.polar(torch.full_like(angles, magnitude), angles)[:, None, :]
        turned = torch.view_as_real(torch.complex(pairs[..., 0], pairs[..., 1]) * turn)
        turned = turned.transpose(-1, -2).flatten(-2) if half_split else turned.flatten(-2)
        return torch.cat([turned, tail], dim=-1).flatten(-2)

    inputs = [("x", (len(positions), heads * width)), ("frequencies", (dims // 2,), 0.3, 0.5)]
    return inputs, function


def attention(queries, keys, heads, width, causal=False, kv_heads=0):
    """PyTorch's scaled_dot_product_attention, one segment at a time."""

    def attend(q, k, v):
        split = lambda t, heads: t.unflatten(-1, (heads, -1)).transpose(0, 1)[None]
        outputs = []
        for qs, ks, vs in zip(q.split(queries), k.split(keys or queries), v.split(keys or queries)):
            ks, vs = split(ks, kv_heads or heads), split(vs, kv_heads or heads)
            out = F.scaled_dot_product_attention(split(qs, heads), ks, vs, is_causal=causal, enable_gqa=kv_heads > 0)
            outputs.append(out[0].transpose(0, 1).flatten(-2))
        return torch.cat(outputs)

    d, kd = heads * width, (kv_heads or heads) * width
    if keys:
        inputs = [("q", (sum(queries), d)), ("kv", (sum(keys), 2 * kd))]
        return inputs, lambda q, kv: attend(q, *kv.split(kd, dim=-1))
    return [("qkv", (sum(queries), d + 2 * kd))], lambda qkv: attend(*qkv.split([d, kd, kd], dim=-1))


def cross_entropy(x, targets, smoothing=0.0, z_loss=0.0):
    plain = F.cross_entropy(x, targets, ignore_index=-1, reduction="sum", label_smoothing=smoothing)
    return plain + z_loss * (torch.logsumexp(x[targets >= 0], dim=1) ** 2).sum()


def r_drop(first, second, targets, smoothing, alpha):
    """Half the loss of the authors' code (dropreg/R-Drop): the cross-entropies of both passes, summed, plus alpha times
    the mean of both divergences."""
    keep = targets >= 0
    ce = sum(cross_entropy(x, targets, smoothing) for x in (first, second))
    log_p, log_q = F.log_softmax(first[keep], dim=-1), F.log_softmax(second[keep], dim=-1)
    kl = F.kl_div(log_p, log_q.exp(), reduction="sum") + F.kl_div(log_q, log_p.exp(), reduction="sum")
    return (ce + alpha * kl / 2) / 2


def linear_attention_scan(lengths, heads, features, width, direction):
    """The sums of linear attention in quadratic form: a triangle of (queries, keys), one segment at a time."""
    triangle = {"before": torch.tril, "after": torch.triu, "all": lambda scores: scores}[direction]
    n = sum(lengths)

    def function(q, k, v=None):
        v = torch.ones(n, heads) if v is None else v
        split = lambda t: [s.unflatten(-1, (heads, -1)).transpose(0, 1) for s in t.split(lengths)]
        sums = [triangle(qs @ ks.transpose(-1, -2)) @ vs for qs, ks, vs in zip(split(q), split(k), split(v))]
        return torch.cat([s.transpose(0, 1).flatten(-2) for s in sums])

    inputs = [("q", (n, heads * features)), ("k", (n, heads * features))]
    return inputs + ([("v", (n, heads * width))] if width else []), function


def favor_features(n, heads, width, features, queries):
    """Positive features as in performer-pytorch's softmax_kernel. Queries subtract the largest exponent; |x|^2 / 2 of the
    row would cancel anyway."""

    def function(x, w):
        x = x.unflatten(-1, (heads, width)) * width**-0.25
        p = x @ w.T
        shift = p.amax(dim=-1, keepdim=True) if queries else x.square().sum(dim=-1, keepdim=True) / 2
        return (features**-0.5 * (torch.exp(p - shift) + 1e-4)).flatten(-2)

    return [("x", (n, heads * width), 0.7), ("w", (features, width))], function


def away_from_kink(x):
    return x + torch.copysign(torch.tensor(1e-3), x)


def linear_activation(f, bias):
    """Inputs of the rows of linear_activation() are rounded."""
    round_bias = lambda b: torch.floor(16 * b) / 16 + 1 / 32
    if bias:
        return lambda x, w, b: f(F.linear(torch.round(4 * x) / 4, torch.round(4 * w) / 4, round_bias(b)))
    eighths = lambda t: torch.floor(4 * t) / 4 + 1 / 8
    return lambda x, w: f(F.linear(eighths(x), eighths(w))) * dropout_mask(0.2, 9, 131)


def cases():
    gelu_tanh = lambda x: F.gelu(x, approximate="tanh")
    activations = {"relu": F.relu, "gelu": F.gelu, "tanh": torch.tanh, "silu": F.silu, "gelu_tanh": gelu_tanh}
    yield row("linear/one-row", [("x", (1, 33)), ("w", (7, 33)), ("bias", (7,))], F.linear)
    yield row("linear/no-bias", [("x", (7, 129)), ("w", (2, 129))], F.linear)
    inputs = [("x", (7, 17)), ("w", (13, 17)), ("bias", (13,))]
    yield row("linear/some-rows", inputs, lambda x, w, b: F.linear(x, w, b)[:, 3:8])
    for name, f in activations.items():
        yield row(name, [("x", (150, 129), 2)], lambda x: f(away_from_kink(x)))
        inputs = [("x", (9, 7)), ("w", (131, 7), 1 / math.sqrt(7))]
        yield row(f"linear_{name}/no-bias", inputs, linear_activation(f, False))
        inputs = [("x", (65, 17)), ("w", (131, 17), 1 / math.sqrt(17)), ("bias", (131,))]
        yield row(f"linear_{name}/odd-sizes", inputs, linear_activation(f, True))
    for name in "silu", "gelu", "gelu_tanh":
        glu = lambda x: activations[name](x[:, :131]) * x[:, 131:]
        yield row(f"gated_activation/odd-sizes-{name}", [("x", (35, 262), 2)], glu)
    yield row("elu_plus_one", [("x", (150, 129), 2)], lambda x: F.elu(away_from_kink(x)) + 1)
    yield row("add", [("a", (130, 129)), ("b", (130, 129))], torch.add)
    yield row("scale", [("x", (1, 129))], lambda x: -1.75 * x)
    yield row("dropout/large", [("x", (131, 129))], lambda x: x * dropout_mask(0.1, 131, 129))
    inputs = [("residual", (3, 5)), ("x", (3, 5))]
    yield row("residual_dropout/small", inputs, lambda r, x: r + x * dropout_mask(0.5, 3, 5))

    for name, n, d in ("two-features", 5, 2), ("one-row", 1, 65):
        inputs = [("x", (n, d), 2, 0.5), ("gamma", (d,), 0.5, 1), ("beta", (d,))]
        yield row(f"layer_norm/{name}", inputs, lambda x, g, b: F.layer_norm(x, (d,), g, b, 1e-5))
    inputs = [("x", (4, 7), 0.1), ("gamma", (7,)), ("beta", (7,))]
    yield row("layer_norm/epsilon", inputs, lambda x, g, b: F.layer_norm(x, (7,), g, b, 0.25))
    inputs = [("x", (37, 33), 2, 0.5), ("gamma", (33,), 0.5, 1)]
    yield row("layer_norm/no-beta", inputs, lambda x, g: F.layer_norm(x, (33,), g, None, 1e-5))
    inputs = [("residual", (33, 7)), ("x", (33, 7)), ("gamma", (7,), 0.5, 1), ("beta", (7,))]
    norm = lambda r, x, g, b: F.layer_norm(r + x * dropout_mask(0.3, 33, 7), (7,), g, b, 1e-5)
    yield row("residual_layer_norm/few-features", inputs, norm)
    for name, n, groups, d, epsilon in ("two-features", 5, 1, 2, 1e-5), ("heads", 35, 3, 7, 1e-6), ("one-feature", 3, 1, 1, 0.25):
        norm = lambda x, g: F.rms_norm(x.unflatten(-1, (groups, d)), (d,), g, epsilon).flatten(-2)
        yield row(f"rms_norm/{name}", [("x", (n, groups * d), 2, 0.5), ("gamma", (d,), 0.5, 1)], norm)

    yield row("embedding/repeats", [("table", (7, 2))], lambda t: F.embedding(random_ids(65, 7), t) * math.sqrt(2))
    means = lambda x: torch.stack([segment.mean(0) for segment in x.split([3, 1, 17, 9])])
    yield row("segment_mean/odd-sizes", [("x", (30, 5))], means)

    yield row("rope/interleaved", *rope(2, 6, 6, range(7)))
    yield row("rope/half-split", *rope(2, 6, 6, range(7), half_split=True))
    yield row("rope/partial", *rope(3, 4, 7, range(5)))
    yield row("rope/partial-half-split", *rope(3, 4, 7, range(5), half_split=True))
    yield row("rope/offsets", *rope(1, 4, 4, [0, 1, 2, 57, 58, 0, 1], half_split=True))
    yield row("rope/magnitude", *rope(2, 4, 5, range(6), half_split=True, magnitude=1.3))
    yield row("rope/step", *rope(2, 4, 5, range(6), step=0.37))

    lengths = [1, 2, 7, 65]
    yield row("attention/self", *attention(lengths, None, 2, 5))
    yield row("attention/causal", *attention(lengths, None, 3, 16, causal=True))
    yield row("attention/cross", *attention([3, 1, 40], [5, 33, 1], 2, 9))
    yield row("attention/grouped", *attention(lengths, None, 6, 5, causal=True, kv_heads=2))
    yield row("attention/grouped-one-head", *attention([1, 34], None, 3, 16, causal=True, kv_heads=1))
    dots = lambda x, w: 0.7 * torch.einsum("nhw,hw->nh", x.unflatten(-1, (3, 7)), w.view(3, 7))
    yield row("head_dot/odd-sizes", [("x", (35, 21)), ("w", (21,))], dots)

    for direction in "before", "after", "all":
        yield row(f"linear_attention_scan/{direction}", *linear_attention_scan(lengths, 2, 5, 3, direction))
    yield row("linear_attention_scan/chunks", *linear_attention_scan([63, 64, 129], 1, 16, 32, "before"))
    yield row("linear_attention_scan/denominators", *linear_attention_scan([1, 67, 0, 4], 2, 7, 0, "before"))
    yield row("linear_attention_scan/denominators-after", *linear_attention_scan([65], 3, 16, 0, "after"))
    yield row("linear_attention_scan/denominators-all", *linear_attention_scan([5, 66], 2, 33, 0, "all"))
    quotients = lambda a, b: (a.unflatten(-1, (3, 19)) / (b[..., None] + 0.25)).flatten(-2)
    yield row("head_divide", [("a", (67, 57)), ("b", (67, 3), 0.1, 2)], quotients)
    softmax = lambda x: F.softmax(x.unflatten(-1, (3, 17)), dim=-1).flatten(-2)
    yield row("head_softmax/odd-sizes", [("x", (65, 51), 2)], softmax)
    products = lambda x, w: (x.unflatten(-1, (2, 17)) @ w.T).flatten(-2)
    yield row("head_matmul", [("x", (7, 34)), ("w", (11, 17))], products)
    for name, n, heads, width, features in ("queries", 9, 2, 8, 13), ("keys", 9, 2, 8, 13), ("wide", 3, 1, 33, 70):
        yield row(f"favor_features/{name}", *favor_features(n, heads, width, features, name == "queries"))

    for name, n, v, smoothing, z_loss, ignored, deviation in (
        ("plain", 7, 5, 0, 0, False, 1), ("smoothing", 300, 65, 0.1, 0, False, 1), ("ignored", 7, 33, 0.1, 0, True, 1),
        ("confident", 5, 17, 0.2, 0, False, 20), ("z-loss", 7, 19, 0.1, 0.02, True, 3)):
        loss = lambda x: cross_entropy(x, random_ids(n, v, ignored), smoothing, z_loss)
        yield row(f"cross_entropy/{name}", [("logits", (n, v), deviation)], loss)
    for name, n, v, smoothing, z_loss, ignored in ("smoothing-bias", 65, 33, 0.1, 0, False), ("z-loss", 9, 131, 0, 0.05, True):
        loss = lambda x, w, b=None: cross_entropy(F.linear(x, w, b), random_ids(n, v, ignored), smoothing, z_loss)
        inputs = [("x", (n, 3)), ("w", (v, 3))] + ([("bias", (v,))] if "bias" in name else [])
        yield row(f"linear_cross_entropy/{name}", inputs, loss)
    for name, n, v, smoothing, alpha, ignored in ("plain", 7, 5, 0, 2, False), ("smoothing", 65, 33, 0.1, 2, False), ("ignored", 1100, 5, 0.1, 1, True):
        loss = lambda x, w: r_drop(*F.linear(x, w).chunk(2), random_ids(n, v, ignored), smoothing, alpha)
        yield row(f"linear_r_drop/{name}", [("x", (2 * n, 3)), ("w", (v, 3), 0.5)], loss)
    for name, shape in ("one-row", (1, 1)), ("vector", (65,)), ("odd-size", (37, 1)):
        targets = normal(hash_name(name), 0, shape[0]).float().double()
        loss = lambda x: torch.nn.MSELoss(reduction="sum")(x.flatten(), targets)
        yield row(f"squared_error/{name}", [("predictions", shape)], loss)
    for name, n, deviation in ("odd-size", 37, 1), ("confident", 9, 20):
        labels = random_ids(n, 2).double()
        loss = lambda x: torch.nn.BCEWithLogitsLoss(reduction="sum")(x.flatten(), labels)
        yield row(f"binary_cross_entropy/{name}", [("logits", (n, 1), deviation)], loss)
    for name, shape, margin in ("one-pair", (2, 1), 1.0), ("vector", (66,), 0.5), ("no-margin", (14, 1), 0.0):
        ranking = torch.nn.MarginRankingLoss(margin, reduction="sum")
        loss = lambda x: ranking(x.flatten()[::2], x.flatten()[1::2], torch.ones(1))
        yield row(f"margin_loss/{name}", [("scores", shape)], loss)


def elementary_cases():
    normal_input = lambda name, shape: (name, shape, 0.5, 3) if name == "b" else (name, shape)
    pairs = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div}
    shapes = {"equal-shapes": ((37, 29), (37, 29)), "row": ((35, 17), (17,)), "row-first": ((1, 1100), (70, 1100)),
              "column": ((65, 19), (65, 1)), "column-first": ((3, 1), (3, 2100)), "element": ((33, 67), (1,)),
              "element-first": ((1, 1), (2, 3, 5)), "row-and-column": ((9,), (31, 1)), "one-number": ((1, 1), (1, 1))}
    for name, f in pairs.items():
        for variant, (a, b) in shapes.items():
            yield row(f"{name}/{variant}", [normal_input("a", a), normal_input("b", b)], f)
    yield row("maximum/odd-sizes", [("a", (37, 29)), ("b", (37, 29))], torch.maximum)
    yield row("scale/offset", [("x", (13, 11))], lambda x: 0.5 * x + 2)

    functions = {"exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "sigmoid": torch.sigmoid}
    for name, f in functions.items():
        yield row(name, [("x", (35, 67), {"exp": 2, "erf": 1}.get(name, 3))], f)
    for name, f in {"log": torch.log, "sqrt": torch.sqrt}.items():
        yield row(name, [("x", (35, 67), 0.5, 3)], f)
    for exponent in -2, -1, -0.5, 0, 1, 2, 3, 1.5:
        yield row(f"pow/{exponent}", [("x", (9, 131), 0.5, 3)], lambda x: torch.pow(x, exponent))

    transposes = {"plain": (False, False), "transpose-a": (True, False), "transpose-b": (False, True), "transpose-both": (True, True)}
    for name, (ta, tb) in transposes.items():
        product = lambda a, b: (a.T if ta else a) @ (b.T if tb else b)
        yield row(f"matmul/{name}", [("a", (33, 17) if ta else (17, 33)), ("b", (65, 33) if tb else (33, 65))], product)
    yield row("transpose", [("x", (35, 67))], lambda x: x.T)
    yield row("reshape", [("x", (6, 35))], lambda x: x.reshape(2, 15, 7))
    yield row("slice/rows", [("x", (9, 5))], lambda x: x[2:6])
    yield row("slice/columns", [("x", (9, 37))], lambda x: x[:, 3:20])
    yield row("concat/columns", [("a", (7, 3)), ("b", (7, 9)), ("c", (7, 1))], lambda *parts: torch.cat(parts, 1))
    yield row("concat/rows", [("a", (3, 5)), ("b", (0, 5)), ("c", (4, 5))], lambda *parts: torch.cat(parts, 0))
    rows_of = lambda x: torch.cat([x, torch.zeros(1, 7)])[torch.tensor([-1, 3, 3, -1, 0])]
    yield row("gather_rows/none", [("x", (5, 7))], rows_of)

    for axis in 0, 1:
        yield row(f"sum/axis-{axis}", [("x", (67, 35))], lambda x: x.sum(axis))
        yield row(f"sum/wide-{axis}", [("x", (3, 2100))], lambda x: x.sum(axis))
        yield row(f"mean/axis-{axis}", [("x", (67, 35))], lambda x: x.mean(axis))
        yield row(f"max/axis-{axis}", [("x", (35, 67))], lambda x: x.amax(axis))
    yield row("sum/all", [("x", (2, 3, 1700))], torch.sum)
    yield row("sum/vector", [("x", (35,))], torch.sum)
    yield row("softmax", [("x", (35, 67), 2)], lambda x: F.softmax(x, dim=-1))
    yield row("log_softmax", [("x", (35, 67), 2)], lambda x: F.log_softmax(x, dim=-1))

    mask = lambda *shape: random_ids(math.prod(shape), 2).view(shape) != 0
    for variant, m, a, b in (
        ("equal-shapes", (35, 17), (35, 17), (35, 17)), ("row-mask", (17,), (35, 17), (35, 1)),
        ("column-mask", (35, 1), (17,), (35, 17)), ("mask-of-result", (9, 5), (1,), (5,))):
        yield row(f"where/{variant}", [("a", a), ("b", b)], lambda a, b: torch.where(mask(*m), a, b))
    yield row("masked_fill", [("x", (35, 17))], lambda x: x.masked_fill(mask(35, 17), -2))


lines = ",\n".join(json.dumps(case) for case in [*cases(), *elementary_cases()])
pathlib.Path(__file__).with_name("ops.json").write_text(f"[\n{lines}\n]\n")
