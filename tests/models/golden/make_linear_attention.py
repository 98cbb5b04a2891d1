"""Writes linear_attention.json for tests/models/linear_attention_test.cpp: linear attention in its quadratic form and
its gradients, computed by PyTorch in float64. Rotations are products of complex numbers.

    python make_linear_attention.py   # needs torch; the JSON file is committed, so the tests need no Python
"""

import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(20240607)
torch.set_default_dtype(torch.float64)


def numbers(*shape, scale=1.0):
    """Normal numbers rounded to multiples of 1/32: short in the file, and exact in float32."""
    return torch.round(torch.randn(*shape) * scale * 32) / 32


def flat(t):
    return {"shape": list(t.shape), "data": [round(x, 11) for x in t.detach().flatten().tolist()]}


def turn(x, frequencies):
    """Rotates x(n, heads, features): feature pairs (2i, 2i+1) are complex numbers, multiplied by
    exp(i * position * frequency)."""
    n = x.shape[0]
    angles = torch.arange(n, dtype=torch.float64)[:, None] * frequencies[None, :]
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)[:, None, :]).flatten(-2)


def favor(x, vectors, query):
    """FAVOR+ features (Choromanski et al. 2021). The largest exponent of a query is subtracted for stability; the
    exponents of keys are not shifted further."""
    scaled = x * x.shape[-1] ** -0.25
    exponents = scaled @ vectors.T - (scaled * scaled).sum(-1, keepdim=True) / 2
    if query:
        exponents = exponents - exponents.amax(-1, keepdim=True)
    return (exponents.exp() + 1e-4) / vectors.shape[0] ** 0.5


def mapped(x, kind, query, vectors):
    if kind == "elu+1":
        return F.elu(x) + 1
    if kind == "relu":
        return F.relu(x) + 1e-3
    if kind == "softmax":
        return x.softmax(-1) if query else x.exp()
    return favor(x, vectors, query)


def attention(q, k, v, kind, causal, rope, frequencies, vectors):
    """Linear attention over one segment: q, k, v(n, heads, width)."""
    if frequencies is not None and rope == "pre-map":
        q, k = turn(q, frequencies), turn(k, frequencies)
    phi, psi = mapped(q, kind, True, vectors), mapped(k, kind, False, vectors)
    weights = torch.einsum("mhf,nhf->hmn", phi, psi)
    numerators = weights
    if frequencies is not None and rope == "post-map":
        numerators = torch.einsum("mhf,nhf->hmn", turn(phi, frequencies), turn(psi, frequencies))
    if causal:
        weights, numerators = weights.tril(), numerators.tril()
    return torch.einsum("hmn,nhw->mhw", numerators, v) / (weights.sum(-1).T[..., None] + 1e-6)


def case(name, kind, causal, rope, rotated, lengths=(4, 1, 3), heads=2, width=4, features=6):
    n = sum(lengths)
    vectors = numbers(features, width) if kind == "favor+" else None
    turned = features if kind == "favor+" and rope == "post-map" else width
    frequencies = numbers(turned // 2, scale=0.5) if rotated else None
    inputs = [numbers(n, heads * width, scale=0.8).requires_grad_() for _ in range(3)]
    parts = zip(*(x.unflatten(-1, (heads, width)).split(lengths) for x in inputs))
    output = torch.cat([attention(*qkv, kind, causal, rope, frequencies, vectors) for qkv in parts]).flatten(-2)
    cotangent = numbers(*output.shape)
    output.backward(cotangent)
    result = {"name": name, "map": kind, "causal": causal, "rope": rope, "heads": heads, "lengths": list(lengths)}
    result |= {key: flat(x) for key, x in zip("qkv", inputs)}
    if vectors is not None:
        result["vectors"] = flat(vectors)
    if frequencies is not None:
        result["frequencies"] = flat(frequencies)
    return result | {"output": flat(output), "cotangent": flat(cotangent), "gradients": [flat(x.grad) for x in inputs]}


cases = []
for kind in ("elu+1", "relu", "softmax", "favor+"):
    cases.append(case(f"{kind}", kind, False, "post-map", False))
    cases.append(case(f"{kind}, causal, turned before the map", kind, True, "pre-map", True))
    cases.append(case(f"{kind}, causal, turned after the map", kind, True, "post-map", True))
(pathlib.Path(__file__).parent / "linear_attention.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")
