"""Writes ops.json for tests/autograd/golden_test.cpp: outputs and gradients of every op, computed by independent
implementations (PyTorch in float64; rotary embedding as a product of complex numbers; Philox from its paper).

    python make_golden.py        # needs torch; ops.json is committed, so the tests need no Python
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(20240607)
torch.set_default_dtype(torch.float64)


def numbers(*shape, scale=1.0):
    """Normal numbers rounded to multiples of 1/32: short in the file, and exact in float32."""
    return torch.round(torch.randn(*shape) * scale * 32) / 32


def flat(t):
    return {"shape": list(t.shape), "data": t.detach().flatten().tolist()}


def case(op, name, inputs, function, **attributes):
    """One test case. inputs: a dict of tensors in the order of the op's arguments; function(*inputs) -> output."""
    leaves = {k: v.clone().requires_grad_() for k, v in inputs.items()}
    output = function(*leaves.values())
    cotangent = numbers(*output.shape)
    output.backward(cotangent)
    return {
        "op": op,
        "name": name,
        "attributes": attributes,
        "inputs": [{"name": k, **flat(v)} for k, v in inputs.items()],
        "output": flat(output),
        "cotangent": flat(cotangent),
        "gradients": [flat(v.grad) for v in leaves.values()],
    }


def rope(x, frequencies, positions, heads, dims, half_split, magnitude):
    """Each pair of features is a complex number, multiplied by magnitude * exp(i * position * frequency)."""
    n, d = x.shape
    x = x.view(n, heads, d // heads)
    rotated, tail = x[..., :dims], x[..., dims:]
    pairs = rotated.unflatten(-1, (2, dims // 2)).transpose(-1, -2) if half_split else rotated.unflatten(-1, (dims // 2, 2))
    angles = torch.tensor(positions, dtype=torch.float64)[:, None] * frequencies[None, :]
    turn = torch.polar(torch.full_like(angles, magnitude), angles)[:, None, :]
    turned = torch.view_as_real(torch.complex(pairs[..., 0], pairs[..., 1]) * turn)
    turned = turned.transpose(-1, -2).flatten(-2) if half_split else turned.flatten(-2)
    return torch.cat([turned, tail], dim=-1).reshape(n, d)


def attention(q, k, v, query_lengths, key_lengths, heads, causal, kv_heads=0):
    """PyTorch's scaled_dot_product_attention, one segment at a time."""
    outputs = []
    for qs, ks, vs in zip(q.split(query_lengths), k.split(key_lengths), v.split(key_lengths)):
        split = lambda t, heads=kv_heads or heads: t.unflatten(-1, (heads, -1)).transpose(0, 1)
        out = F.scaled_dot_product_attention(
            split(qs, heads)[None], split(ks)[None], split(vs)[None], is_causal=causal, enable_gqa=kv_heads > 0
        )[0]
        outputs.append(out.transpose(0, 1).flatten(-2))
    return torch.cat(outputs)


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


def dropout_mask(shape, rate, seed, stream):
    n = math.prod(shape)
    words = [w for block in range((n + 3) // 4) for w in philox(seed, stream, block)][:n]
    return torch.tensor([float(w >= rate * 2**32) for w in words]).view(shape)


def rope_case(name, heads, width, dims, half_split, magnitude, positions):
    frequencies = torch.round(10000.0 ** (-2 * torch.arange(dims // 2) / dims) * 1024) / 1024
    inputs = {"x": numbers(len(positions), heads * width), "frequencies": frequencies}
    attributes = dict(positions=positions, heads=heads, dims=dims, half_split=half_split, magnitude=magnitude)
    return case("rope", name, inputs, lambda x, f: rope(x, f, **attributes), **attributes)


def attention_case(name, query_lengths, key_lengths, heads, width, causal):
    d, nq, nk = heads * width, sum(query_lengths), sum(key_lengths)
    q, k, v = numbers(nq, d), numbers(nk, d), numbers(nk, d)
    attributes = dict(query_lengths=query_lengths, key_lengths=key_lengths, heads=heads, causal=causal)
    if query_lengths == key_lengths:  # self-attention
        function = lambda qkv: attention(*qkv.split(d, dim=-1), **attributes)
        return case("attention", name, {"qkv": torch.cat([q, k, v], dim=-1)}, function, **attributes)
    function = lambda q, kv: attention(q, *kv.split(d, dim=-1), **attributes)
    return case("attention", name, {"q": q, "kv": torch.cat([k, v], dim=-1)}, function, **attributes)


def grouped_attention_case(name, query_lengths, key_lengths, heads, kv_heads, width, causal):
    nq, nk = sum(query_lengths), sum(key_lengths)
    inputs = {"q": numbers(nq, heads * width), "k": numbers(nk, kv_heads * width), "v": numbers(nk, kv_heads * width)}
    attributes = dict(query_lengths=query_lengths, key_lengths=key_lengths, heads=heads, causal=causal, kv_heads=kv_heads)
    return case("attention", name, inputs, lambda q, k, v: attention(q, k, v, **attributes), **attributes)


def rms_norm_case(name, rows, groups, d, epsilon):
    inputs = {"x": numbers(rows, groups * d, scale=2), "gamma": numbers(d)}
    norm = lambda x, g: F.rms_norm(x.unflatten(-1, (groups, d)), (d,), g, epsilon).flatten(-2)
    return case("rms_norm", name, inputs, norm, epsilon=epsilon)


def glu_case(op, name, rows, width, act):
    function = lambda x: act(x[:, :width]) * x[:, width:]
    return case(op, name, {"x": numbers(rows, 2 * width, scale=2)}, function)


def cross_entropy(x, targets, smoothing, z_loss):
    plain = F.cross_entropy(x, targets, ignore_index=-1, reduction="sum", label_smoothing=smoothing)
    return (plain + z_loss * (torch.logsumexp(x[targets >= 0], dim=1) ** 2).sum()).view(1)


def cross_entropy_case(name, rows, classes, smoothing, ignore, z_loss=0):
    targets = torch.randint(classes, (rows,))
    targets[: 2 * ignore : 2] = -1
    loss = lambda x: cross_entropy(x, targets, smoothing, z_loss)
    inputs = {"logits": numbers(rows, classes, scale=2)}
    return case("cross_entropy", name, inputs, loss, targets=targets.tolist(), smoothing=smoothing, z_loss=z_loss)


def linear_cross_entropy_case(name, rows, width, classes, smoothing, z_loss=0):
    targets = torch.randint(classes, (rows,))
    targets[0] = -1
    loss = lambda x, w: cross_entropy(F.linear(x, w), targets, smoothing, z_loss)
    inputs = {"x": numbers(rows, width), "w": numbers(classes, width)}
    attributes = {"targets": targets.tolist(), "smoothing": smoothing, "z_loss": z_loss}
    return case("linear_cross_entropy", name, inputs, loss, **attributes)


def r_drop(first, second, targets, smoothing, alpha):
    """Half the loss of the authors' code (dropreg/R-Drop): the cross-entropies of both passes, summed, plus alpha times
    the mean of both divergences."""
    keep = targets >= 0
    ce = sum(
        F.cross_entropy(x, targets, ignore_index=-1, reduction="sum", label_smoothing=smoothing)
        for x in (first, second)
    )
    log_p, log_q = F.log_softmax(first[keep], dim=-1), F.log_softmax(second[keep], dim=-1)
    kl = F.kl_div(log_p, log_q.exp(), reduction="sum") + F.kl_div(log_q, log_p.exp(), reduction="sum")
    return (ce + alpha * kl / 2) / 2


def linear_r_drop_case(name, rows, width, classes, smoothing, alpha, ignore=0):
    targets = torch.randint(classes, (rows,))
    targets[: 2 * ignore : 2] = -1
    loss = lambda x, w: r_drop(*F.linear(x, w).chunk(2), targets, smoothing, alpha).view(1)
    inputs = {"x": numbers(2 * rows, width), "w": numbers(classes, width)}
    return case("linear_r_drop", name, inputs, loss, targets=targets.tolist(), smoothing=smoothing, alpha=alpha)


def squared_error_case(name, *shape):
    targets = numbers(shape[0])
    loss = lambda x: torch.nn.MSELoss(reduction="sum")(x.flatten(), targets).view(1)
    return case("squared_error", name, {"predictions": numbers(*shape, scale=2)}, loss, targets=targets.tolist())


def segment_mean_case(name, lengths, width):
    means = lambda x: torch.stack([rows.mean(0) for rows in x.split(lengths)])
    return case("segment_mean", name, {"x": numbers(sum(lengths), width)}, means, lengths=lengths)


def binary_cross_entropy_case(name, n, scale):
    labels = torch.randint(2, (n,))
    bce = torch.nn.BCEWithLogitsLoss(reduction="sum")
    loss = lambda x: bce(x.flatten(), labels.to(x.dtype)).view(1)
    return case("binary_cross_entropy", name, {"logits": numbers(n, 1, scale=scale)}, loss, labels=labels.tolist())


def margin_loss_case(name, n, margin):
    ranking = torch.nn.MarginRankingLoss(margin, reduction="sum")
    loss = lambda x: ranking(x[::2, 0], x[1::2, 0], torch.ones(n)).view(1)
    return case("margin_loss", name, {"scores": numbers(2 * n, 1)}, loss, margin=margin)


def dropout_case(name, shape, rate, seed, stream, residual):
    mask = dropout_mask(shape, rate, seed, stream)
    inputs = {"x": numbers(*shape)}
    if residual:
        inputs["residual"] = numbers(*shape)
    function = lambda x, r=0: r + x * mask / (1 - rate)
    return case("dropout", name, inputs, function, rate=rate, seed=seed, stream=stream)


def linear_attention_scan(q, k, lengths, heads, direction, v=None):
    """The sums of linear attention in quadratic form: a triangle of (queries, keys), one segment at a time."""
    triangle = {"before": torch.tril, "after": torch.triu, "all": lambda scores: scores}[direction]
    v = torch.ones(len(q), heads) if v is None else v
    split = lambda t: [s.unflatten(-1, (heads, -1)).transpose(0, 1) for s in t.split(lengths)]
    sums = [triangle(qs @ ks.transpose(-1, -2)) @ vs for qs, ks, vs in zip(split(q), split(k), split(v))]
    return torch.cat([s.transpose(0, 1).flatten(-2) for s in sums])


def linear_attention_scan_case(name, lengths, heads, features, width, direction):
    n = sum(lengths)
    inputs = {"q": numbers(n, heads * features), "k": numbers(n, heads * features)}
    if width:
        inputs["v"] = numbers(n, heads * width)
    attributes = dict(lengths=lengths, heads=heads, direction=direction)
    return case("linear_attention_scan", name, inputs, lambda q, k, v=None: linear_attention_scan(q, k, v=v, **attributes), **attributes)


def favor_features(p, x, heads, width):
    """Positive features as in performer-pytorch's softmax_kernel, from products with its random vectors. Exponents are
    clamped to 60. Without x, for queries: subtracts the largest exponent; |x|^2 / 2 of the row would cancel anyway."""
    p = p.unflatten(-1, (heads, -1)) * width**-0.25
    if x is None:
        shift = p.amax(dim=-1, keepdim=True)
    else:
        shift = (x.unflatten(-1, (heads, width)) * width**-0.25).square().sum(dim=-1, keepdim=True) / 2
    return (p.shape[-1] ** -0.5 * (torch.exp((p - shift).clamp(max=60)) + 1e-4)).flatten(-2)


def favor_case(name, rows, heads, width, features, side, scale=1.0):
    distinct = torch.arange(heads * features) / 1024  # no ties, so the largest product is unique
    inputs = {"p": numbers(rows, heads * features, scale=scale) + distinct}
    if side == "keys":
        inputs["x"] = numbers(rows, heads * width)
    function = lambda p, x=None: favor_features(p, x, heads, width)
    return case("favor_features", name, inputs, function, heads=heads, width=width)


def taped_dropout_case(op, shape, rate, seed):
    """Dropout on a tape, whose masks use the tape's seed and streams 0, 1, .."""
    mask = dropout_mask(shape, rate, seed, 0)
    if op == "dropout":
        return case(op, "of a tape", {"x": numbers(*shape)}, lambda x: x * mask / (1 - rate), rate=rate, tape_seed=seed)
    function = lambda r, x: r + x * mask / (1 - rate)
    inputs = {"residual": numbers(*shape), "x": numbers(*shape)}
    return case(op, "", inputs, function, rate=rate, tape_seed=seed)


def cases():
    linear = {"x": numbers(7, 9), "w": numbers(5, 9), "bias": numbers(5)}
    yield case("linear", "bias", linear, F.linear)
    yield case("linear", "no bias", {"x": numbers(1, 17), "w": numbers(3, 17)}, F.linear)
    yield case("add", "", {"a": numbers(3, 5), "b": numbers(3, 5)}, torch.add)
    yield case("relu", "", {"x": numbers(5, 7) + 1 / 64}, F.relu)
    yield case("gelu", "", {"x": numbers(5, 17, scale=2)}, F.gelu)
    for rows, d, epsilon in (7, 9, 1e-5), (1, 33, 1e-5), (3, 4, 0.1):
        inputs = {"x": numbers(rows, d, scale=2), "gamma": numbers(d), "beta": numbers(d)}
        function = lambda x, g, b: F.layer_norm(x, (d,), g, b, epsilon)
        yield case("layer_norm", f"width {d}", inputs, function, epsilon=epsilon)
    ids = [4, 0, 4, 2, 4, 1]
    function = lambda t: F.embedding(torch.tensor(ids), t) * 2.5
    yield case("embedding", "repeats", {"table": numbers(6, 5)}, function, ids=ids, factor=2.5)
    for half_split in False, True:
        layout = "half split" if half_split else "interleaved"
        yield rope_case(layout, 2, 8, 8, half_split, 1.0, [0, 1, 2, 3, 0, 1, 9])
        yield rope_case(layout + ", partial, magnitude", 3, 7, 4, half_split, 1.25, [5, 6, 700, 0])
    yield attention_case("self", [1, 5, 3], [1, 5, 3], 2, 4, False)
    yield attention_case("causal", [1, 6, 2], [1, 6, 2], 2, 4, True)
    yield attention_case("cross", [2, 1, 4], [3, 5, 1], 3, 5, False)
    yield cross_entropy_case("plain", 5, 7, 0.0, 0)
    yield cross_entropy_case("smoothing, ignored rows", 7, 11, 0.1, 2)
    yield linear_cross_entropy_case("smoothing", 6, 5, 9, 0.1)
    yield dropout_case("plain", (9, 15), 0.3, 0x123456789ABCDEF0, 0xFEDCBA9876543210, False)
    yield dropout_case("residual", (3, 7), 0.5, 1, 2, True)
    inputs = {"residual": numbers(5, 9), "x": numbers(5, 9), "gamma": numbers(9), "beta": numbers(9)}
    function = lambda r, x, g, b: F.layer_norm(r + x, (9,), g, b, 1e-5)
    yield case("residual_layer_norm", "", inputs, function, epsilon=1e-5)
    yield case("tanh", "", {"x": numbers(5, 17, scale=2)}, torch.tanh)
    pooler = {"x": numbers(3, 9, scale=0.5), "w": numbers(7, 9, scale=0.5), "bias": numbers(7)}
    yield case("linear_tanh", "", pooler, lambda x, w, b: torch.tanh(F.linear(x, w, b)))
    yield squared_error_case("one row", 1, 1)
    yield squared_error_case("vector", 13)
    yield squared_error_case("column", 7, 1)
    for name, function in ("linear_relu", F.relu), ("linear_gelu", F.gelu):
        inputs = {"x": numbers(3, 9, scale=0.5), "w": numbers(7, 9, scale=0.5), "bias": numbers(7)}
        yield case(name, "", inputs, lambda x, w, b: function(F.linear(x, w, b)))
    yield case("scale", "", {"x": numbers(3, 7)}, lambda x: x * -0.75, factor=-0.75)
    yield taped_dropout_case("dropout", (5, 7), 0.3, 0xFEDCBA9876543210)
    yield taped_dropout_case("residual_dropout", (3, 11), 0.25, 20240607)
    dots = lambda x, w: 0.3 * torch.einsum("nhw,hw->nh", x.unflatten(-1, (3, 5)), w.view(3, 5))
    yield case("head_dot", "", {"x": numbers(7, 15), "w": numbers(15)}, dots, heads=3, factor=0.3)
    products = lambda x, w: torch.einsum("nhw,fw->nhf", x.unflatten(-1, (3, 5)), w).flatten(-2)
    yield case("head_matmul", "", {"x": numbers(7, 15), "w": numbers(11, 5)}, products, heads=3)
    softmax = lambda x: F.softmax(x.unflatten(-1, (3, 7)), dim=-1).flatten(-2)
    yield case("head_softmax", "", {"x": numbers(5, 21, scale=2)}, softmax, heads=3)
    yield case("head_softmax", "one row", {"x": numbers(1, 19, scale=2)}, lambda x: F.softmax(x, dim=-1), heads=1)
    quotients = lambda a, b: (a.unflatten(-1, (3, 7)) / (b[..., None] + 0.25)).flatten(-2)
    inputs = {"a": numbers(5, 21), "b": numbers(5, 3).abs() + 0.5}
    yield case("head_divide", "", inputs, quotients, epsilon=0.25)
    for direction in "before", "after", "all":
        yield linear_attention_scan_case(direction, [1, 6, 1, 3], 2, 5, 3, direction)
        yield linear_attention_scan_case(direction + ", no values", [1, 4, 2], 3, 3, 0, direction)
    yield linear_attention_scan_case("more than a chunk", [1, 66], 1, 3, 2, "before")
    yield favor_case("queries", 5, 2, 3, 7, "queries")
    yield favor_case("queries, one row", 1, 1, 5, 3, "queries")
    yield favor_case("keys", 5, 2, 3, 7, "keys")
    yield favor_case("keys, exponents above 60", 1, 1, 3, 9, "keys", scale=100)
    yield linear_r_drop_case("the paper's alpha", 5, 3, 7, 0.1, 5.0)
    yield linear_r_drop_case("ignored rows", 6, 5, 9, 0.0, 0.75, ignore=2)
    yield linear_r_drop_case("one token", 1, 4, 13, 0.1, 2.0)
    yield segment_mean_case("odd sizes", [3, 1, 7], 5)
    yield segment_mean_case("one segment", [9], 17)
    yield binary_cross_entropy_case("plain", 7, 2)
    yield binary_cross_entropy_case("confident", 5, 40)
    yield margin_loss_case("plain", 7, 1.0)
    yield margin_loss_case("small margin", 5, 0.25)
    gelu_tanh = lambda x: F.gelu(x, approximate="tanh")
    yield case("silu", "", {"x": numbers(5, 17, scale=2)}, F.silu)
    yield case("gelu_tanh", "", {"x": numbers(5, 17, scale=2)}, gelu_tanh)
    yield glu_case("swiglu", "", 5, 17, F.silu)
    yield glu_case("geglu", "one row", 1, 9, F.gelu)
    for op, act in ("linear_silu", F.silu), ("linear_gelu_tanh", gelu_tanh):
        inputs = {"x": numbers(3, 9, scale=0.5), "w": numbers(7, 9, scale=0.5), "bias": numbers(7)}
        yield case(op, "", inputs, lambda x, w, b: act(F.linear(x, w, b)))
        no_bias = {"x": numbers(4, 5), "w": numbers(3, 5, scale=0.5)}
        yield case(op, "no bias", no_bias, lambda x, w: act(F.linear(x, w)))
    yield rms_norm_case("width 9", 7, 1, 9, 1e-5)
    yield rms_norm_case("heads", 5, 3, 7, 1e-6)
    yield rms_norm_case("large epsilon", 1, 1, 4, 0.1)
    yield grouped_attention_case("two groups", [1, 6, 2], [1, 6, 2], 4, 2, 3, True)
    yield grouped_attention_case("one head of keys, cross", [2, 1, 4], [3, 5, 1], 3, 1, 5, False)
    yield cross_entropy_case("z-loss, smoothing, ignored rows", 7, 11, 0.1, 2, z_loss=0.03)
    yield linear_cross_entropy_case("z-loss", 6, 5, 9, 0, z_loss=0.02)


# Known-answer tests from Random123, the reference implementation of Philox.
assert philox(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox(2**64 - 1, 2**64 - 1, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]

lines = ",\n".join(json.dumps(c) for c in cases())
pathlib.Path(__file__).with_name("ops.json").write_text(f"[\n{lines}\n]\n")
