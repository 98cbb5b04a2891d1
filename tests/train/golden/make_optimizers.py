#!/usr/bin/env python3
"""Writes optimizers.json: weights after five steps of optimizers with clip_grad_norm_ and fairseq's learning rates.

Adam, AdamW and Muon are those of torch.optim, in f64; Lion and NorMuon follow the algorithms of their
papers.
"""
import json
import math
import pathlib

import torch

torch.bfloat16 = torch.float64  # the precision of torch.optim.Muon's iteration

SHAPES = {"w": (3, 4), "norm": (5,), "b": (4,), "v": (2, 3), "tall": (7, 3)}
MATRICES = {"w": [3], "tall": [5, 2]}  # the rows of the matrices that these parameters stack
NO_DECAY = {"norm", "b"}
STEPS, NORMALIZER, CLIP, PEAK, WARMUP, INITIAL = 5, 7.0, 0.9, 0.05, 3, 1e-3
MOMENTUM = 0.95


def rate(n):
    return INITIAL + n * (PEAK - INITIAL) / WARMUP if n < WARMUP else PEAK * WARMUP**0.5 * n**-0.5


def wave(shape, phase):
    count = math.prod(shape)
    return torch.tensor([math.sin(0.7 * i + phase) for i in range(count)], dtype=torch.float64).reshape(shape)


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, groups, lr, betas):
        super().__init__(groups, {"lr": lr, "betas": betas})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                b1, b2 = group["betas"]
                c = b1 * m + (1 - b1) * p.grad
                p.data -= group["lr"] * (torch.sign(c) + group["weight_decay"] * p.data)
                m.copy_(b2 * m + (1 - b2) * p.grad)


class NorMuon(torch.optim.Optimizer):
    """Li et al. 2025, algorithm 1, with Nesterov's momentum; the orthogonalization is torch.optim.Muon's."""

    def __init__(self, groups, lr):
        super().__init__(groups, {"lr": lr})

    def step(self):
        from torch.optim._muon import _zeropower_via_newtonschulz as orthogonalize

        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                v = self.state[p].setdefault("v", torch.zeros(p.shape[0], 1, dtype=p.dtype))
                m.mul_(MOMENTUM).add_((1 - MOMENTUM) * p.grad)
                o = orthogonalize(MOMENTUM * m + (1 - MOMENTUM) * p.grad, (3.4445, -4.7750, 2.0315), 5, 1e-7)
                v.mul_(0.95).add_(0.05 * (o * o).mean(dim=1, keepdim=True))
                o = o / (v.sqrt() + 1e-8)
                p.data *= 1 - group["lr"] * group["weight_decay"]
                p.data -= 0.2 * group["lr"] * math.sqrt(o.numel()) / o.norm() * o


def groups_of(values, names, decay):
    return [{"params": [values[n] for n in names if n not in NO_DECAY], "weight_decay": decay},
            {"params": [values[n] for n in names if n in NO_DECAY], "weight_decay": 0.0}]


def elementwise(kind, decay, **options):
    return lambda values: [kind(groups_of(values, SHAPES, decay), lr=PEAK, **options)]


def with_matrices(make, decay):
    """`make` optimizes the matrices, which are views of the parameters; AdamW does the rest."""

    def optimizers(values):
        matrices = []
        for name, rows in MATRICES.items():
            for part, gradient in zip(values[name].data.split(rows), values[name].grad.split(rows)):
                part.grad = gradient
                matrices.append(part)
        others = groups_of(values, [n for n in SHAPES if n not in MATRICES], decay)
        return [torch.optim.AdamW(others, lr=PEAK, betas=(0.9, 0.98), eps=1e-9),
                make([{"params": matrices, "weight_decay": decay}])]

    return optimizers


def run(make):
    values = {name: wave(shape, k).requires_grad_() for k, (name, shape) in enumerate(SHAPES.items())}
    for value in values.values():
        value.grad = torch.zeros_like(value)
    optimizers = make(values)
    norms = []
    for step in range(STEPS):
        for k, value in enumerate(values.values()):
            value.grad.copy_(wave(value.shape, 10 * step + 3 * k) * (step + 1) / NORMALIZER)
        norms.append(float(torch.nn.utils.clip_grad_norm_(values.values(), CLIP)))
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(step)
            optimizer.step()
    return {"norms": norms, "weights": {name: value.detach().flatten().tolist() for name, value in values.items()}}


def muon(groups):
    return torch.optim.Muon(groups, lr=PEAK, momentum=MOMENTUM, nesterov=True, adjust_lr_fn="match_rms_adamw")


golden = {"shapes": SHAPES, "matrices": MATRICES, "no_decay": sorted(NO_DECAY), "steps": STEPS,
          "normalizer": NORMALIZER, "clip": CLIP, "learning_rate": PEAK, "warmup": WARMUP, "warmup_initial": INITIAL,
          "weight_decay": 0.1, "lion_betas": [0.9, 0.99],
          "adam": run(elementwise(torch.optim.Adam, 0.0, betas=(0.9, 0.98), eps=1e-9)),
          "adamw": run(elementwise(torch.optim.AdamW, 0.1, betas=(0.9, 0.98), eps=1e-9)),
          "lion": run(elementwise(Lion, 0.1, betas=(0.9, 0.99))),
          "muon": run(with_matrices(muon, 0.1)),
          "normuon": run(with_matrices(lambda groups: NorMuon(groups, lr=PEAK), 0.1))}
pathlib.Path(__file__).with_name("optimizers.json").write_text(json.dumps(golden, indent=1) + "\n")
