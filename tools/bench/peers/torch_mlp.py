"""The network of tools/examples/mlp in eager PyTorch on the CPU, for tools/bench/peers/compare_mlp.sh.

Prints the same lines.
"""
import math
import sys
import time

import torch

ARMS, POINTS, HIDDEN = 3, 300, 64


def main():
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    torch.manual_seed(1)
    number = torch.arange(POINTS)
    radius = number / POINTS
    angle = 6.28 * ((number % ARMS) / ARMS + 0.7 * radius) + 0.2 * torch.randn(POINTS)
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    arms = torch.nn.functional.one_hot(number % ARMS, ARMS).float()
    bound = math.sqrt(6 / (HIDDEN + ARMS))
    weights = [torch.randn(2, HIDDEN), torch.zeros(1, HIDDEN), torch.empty(HIDDEN, ARMS).uniform_(-bound, bound),
               torch.zeros(1, ARMS)]
    w1, b1, w2, b2 = weights = [w.requires_grad_() for w in weights]
    adam = torch.optim.Adam(weights, lr=0.02, betas=(0.9, 0.98), eps=1e-9)
    start = time.perf_counter()
    for update in range(1, updates + 1):
        hidden = torch.tanh(points @ w1 + b1)
        logits = hidden @ w2 + b2
        loss = -(torch.log_softmax(logits, dim=1) * arms).sum()
        mean, right = loss.item() / POINTS, (logits.argmax(dim=1) == number % ARMS).float().mean().item()
        adam.zero_grad()
        (loss / POINTS).backward()
        adam.step()
        if update == 1 or update % 100 == 0:
            print(f"update {update:4d}  loss {mean:.4f}  accuracy {right:.3f}")
    print(f"{(time.perf_counter() - start) / updates * 1e6:.1f} microseconds per update")


if __name__ == "__main__":
    main()
