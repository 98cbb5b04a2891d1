"""The workloads of `gyre bench step` in PyTorch on a GPU: autocast, fused attention and Adam, optional torch.compile.

All batches are created on the GPU before the clock starts, and the clock is read only after the last step, so that
PyTorch can queue work ahead; gyre bench step does the same, up to a step ahead. Prints one JSON object. peak_mb is the
peak memory of tensors in MiB; matmul_tflops is the rate of a product of 8192 x 8192 matrices; padding is the share of
positions that hold no token. torch_models.py describes what is the same as in Gyre.
"""
import argparse
import contextlib
import json
import time

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_models import CPU_PRESETS, GPU_PRESETS, make_workload


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(run, times, device):
    """Mean time of one run."""
    synchronize(device)
    start = time.perf_counter()
    for i in range(times):
        run(i)
    synchronize(device)
    return (time.perf_counter() - start) / times


def matmul_tflops(precision, device, n=8192):
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    seconds_of(lambda _: a @ b, 3, device)
    return 2e-12 * n**3 / seconds_of(lambda _: a @ b, 20, device)


class Trainer:
    def __init__(self, options, device):
        self.model = make_workload(options.preset, options.text).to(device)
        self.optimizer = self.model.optimizer(fused=True)
        self.loss = torch.compile(self.model.loss) if options.compile else self.model.loss
        self.attention = options.attention
        self.autocast = dict(device_type=device.type, dtype=torch.bfloat16, enabled=options.precision == "bf16")

    def first_attention(self):
        """PyTorch prefers FlashAttention-2, also where cuDNN's attention is faster."""
        if self.attention == "default":
            return contextlib.nullcontext()
        names = ["CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH"]
        return sdpa_kernel([getattr(SDPBackend, name) for name in names], set_priority=True)

    def step(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        with self.first_attention():
            with torch.autocast(**self.autocast):
                loss = self.loss(*batch)
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


def measure(options, device):
    trainer = Trainer(options, device)
    batches = [trainer.model.batch(step) for step in range(options.steps)]
    for i in range(options.warm_up):
        trainer.step(batches[i % len(batches)][0])
    seconds = seconds_of(lambda i: trainer.step(batches[i][0]), options.steps, device)
    tokens = sum(count for _, count in batches) / options.steps
    positions = sum(trainer.model.positions(*batch) for batch, _ in batches) / options.steps
    return {"parameters": sum(p.numel() for p in trainer.model.parameters()),
            "tokens_per_step": tokens,
            "padding": round(1 - tokens / positions, 4),
            "tokens_per_second": round(tokens / seconds, 1),
            "step_ms": round(1e3 * seconds, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=GPU_PRESETS + CPU_PRESETS, default="nmt-base-25k")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16"], default="bf16")
    parser.add_argument("--compile", action="store_true", help="torch.compile the forward and backward pass")
    parser.add_argument("--attention", choices=["default", "cudnn"], default="default",
                        help="cudnn: cuDNN's kernels where they exist")
    parser.add_argument("--steps", type=int, default=20, help="measured steps")
    parser.add_argument("--warm-up", type=int, default=5, help="warm-up steps")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N; cpu for a trial")
    parser.add_argument("--text", metavar="PREFIX", help="multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de")
    options = parser.parse_args()
    if options.preset == "multi30k-tiny" and not options.text:
        parser.error("multi30k-tiny needs --text")
    device = torch.device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
    torch.manual_seed(0)
    facts = {"torch": torch.__version__, "device": options.device, "preset": options.preset,
             "precision": options.precision, "compiled": options.compile, "attention": options.attention}
    facts.update(measure(options, device))
    if device.type == "cuda":
        facts["device"] = torch.cuda.get_device_name(device)
        facts["peak_mb"] = round(torch.cuda.max_memory_allocated(device) / 2**20, 1)
        facts["matmul_tflops"] = round(matmul_tflops(options.precision, device), 1)
    print(json.dumps(facts, separators=(",", ":")))


if __name__ == "__main__":
    main()
