"""The workloads of `gyre bench step` in eager PyTorch on the CPU, for tools/bench/peers/compare_torch.sh.

Batches are created before the clock starts. Prints one JSON object. peak_rss_mb is in MiB. torch_models.py describes
what is the same as in Gyre.
"""
import argparse
import json
import resource
import statistics
import time

import torch
from torch import nn

from torch_models import CPU_PRESETS, make_workload


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=CPU_PRESETS, default="nmt-base")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--text", metavar="PREFIX", help="multi30k-tiny takes its lengths from PREFIX.en and PREFIX.de")
    options = parser.parse_args()
    if options.preset == "multi30k-tiny" and not options.text:
        parser.error("multi30k-tiny needs --text")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = make_workload(options.preset, options.text)
    optimizer = model.optimizer()
    seconds, tokens, warm_up = [], 0, 2
    for step in range(-warm_up, options.steps):
        batch, count = model.batch(step)
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            loss = model.loss(*batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step >= 0:
            seconds.append(time.perf_counter() - start)
            tokens += count
    median = statistics.median(seconds)
    per_second = tokens / sum(seconds) if model.varies else tokens / len(seconds) / median
    print(json.dumps({"torch": torch.__version__, "preset": options.preset, "precision": options.precision,
                      "threads": options.threads, "parameters": sum(p.numel() for p in model.parameters()),
                      "tokens_per_step": tokens / options.steps, "tokens_per_second": round(per_second, 1),
                      "step_ms": round(1e3 * median, 2),
                      "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)},
                     separators=(",", ":")))


if __name__ == "__main__":
    main()
