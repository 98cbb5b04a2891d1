#!/usr/bin/env python3
"""Writes adam.json: weights after five steps of torch.optim.Adam and AdamW with clip_grad_norm_ and fairseq's rates."""
import json
import math
import pathlib

import torch

SHAPES = {"w": (3, 4), "norm": (5,), "b": (4,), "v": (2, 3)}
NO_DECAY = {"norm", "b"}
STEPS, NORMALIZER, CLIP, PEAK, WARMUP, INITIAL = 5, 7.0, 0.9, 0.05, 3, 1e-3


def rate(n):
    return INITIAL + n * (PEAK - INITIAL) / WARMUP if n < WARMUP else PEAK * WARMUP**0.5 * n**-0.5


def wave(shape, phase):
    count = math.prod(shape)
    return torch.tensor([math.sin(0.7 * i + phase) for i in range(count)], dtype=torch.float64).reshape(shape)


def run(kind, decay):
    values = {name: wave(shape, k).requires_grad_() for k, (name, shape) in enumerate(SHAPES.items())}
    groups = [{"params": [values[n] for n in SHAPES if n not in NO_DECAY], "weight_decay": decay},
              {"params": [values[n] for n in SHAPES if n in NO_DECAY], "weight_decay": 0.0}]
    optimizer = kind(groups, lr=PEAK, betas=(0.9, 0.98), eps=1e-9)
    norms = []
    for step in range(STEPS):
        for k, value in enumerate(values.values()):
            value.grad = wave(value.shape, 10 * step + 3 * k) * (step + 1) / NORMALIZER
        norms.append(float(torch.nn.utils.clip_grad_norm_(values.values(), CLIP)))
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.step()
    return {"norms": norms, "weights": {name: value.detach().flatten().tolist() for name, value in values.items()}}


golden = {"shapes": SHAPES, "no_decay": sorted(NO_DECAY), "steps": STEPS, "normalizer": NORMALIZER, "clip": CLIP,
          "learning_rate": PEAK, "warmup": WARMUP, "warmup_initial": INITIAL, "weight_decay": 0.1,
          "adam": run(torch.optim.Adam, 0.0), "adamw": run(torch.optim.AdamW, 0.1)}
pathlib.Path(__file__).with_name("adam.json").write_text(json.dumps(golden, indent=1) + "\n")
