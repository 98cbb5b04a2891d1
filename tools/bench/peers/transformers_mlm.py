"""Trains a masked language model in Hugging Face transformers on the batches of a Gyre run, for
tools/bench/peers/compare_transformers.sh.

The initial weights are an export of gyre export --to hf, the batches are a file of gyre inspect batches, and the
hyperparameters are the run's train.toml: AdamW with weight decay for matrices and tables only, clipping by the global
norm, a linear schedule with warm-up. fp32, no dropout. Writes a metrics.jsonl with the loss of each update, which
gyre plot reads.
"""
import argparse
import json
import pathlib
import time
import tomllib

import torch
from safetensors import safe_open
from torch import nn
from transformers import AutoModelForMaskedLM, __version__ as transformers_version


def learning_rate(options, finished):
    """The rate of the update after `finished` updates: train/optim/schedule.h of Gyre."""
    peak, warmup, total = options["learn-rate"], options["lr-warmup"], options["total-updates"]
    if finished < warmup:
        start = options["lr-warmup-start-rate"]
        return start + finished * (peak - start) / warmup
    return max(peak * (total - finished) / (total - warmup), options["lr-minimum"])


def require_known(options):
    """Rejects runs whose options this script does not follow."""
    expected = {"optimizer": "adamw", "lr-schedule": "linear", "precision": "fp32", "ema": 0,
                "transformer-dropout": 0, "transformer-dropout-attention": 0, "transformer-dropout-ffn": 0}
    for name, value in expected.items():
        if options[name] != value:
            raise SystemExit(f"train.toml: {name}: expected {value}, got {options[name]}")
    if options["clip-norm"] <= 0 or options["total-updates"] <= 0:
        raise SystemExit("train.toml: expected clip-norm and total-updates above 0")


def make_optimizer(model, options):
    """Like Gyre, decays matrices and embedding tables, but neither biases nor the weights of layer norms."""
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    beta1, beta2, epsilon = options["optimizer-params"]
    groups = [{"params": decayed, "weight_decay": options["weight-decay"]}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(beta1, beta2), eps=epsilon)


def load_model(directory):
    """The dropout of the run, 0, is part of the exported config.json."""
    model = AutoModelForMaskedLM.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager")
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            module.padding_idx = None  # in Gyre, padding is a token like others: random replacements may draw it
    return model.train()


def padded(ids, offsets):
    """Unpacks the samples into rows of equal length: ids, attention mask, and the place of each packed row."""
    lengths = (offsets[1:] - offsets[:-1]).tolist()
    rows = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    mask = torch.zeros_like(rows)
    places = []
    for i, length in enumerate(lengths):
        rows[i, :length] = ids[offsets[i] : offsets[i + 1]]
        mask[i, :length] = 1
        places.append(i * rows.shape[1] + torch.arange(length))
    return rows, mask, torch.cat(places)


def loss_of(model, batches, update):
    def tensor(name):
        return batches.get_tensor(f"update-{update:08}.{name}").long()

    ids, mask, places = padded(tensor("ids"), tensor("offsets"))
    states = model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state.flatten(0, 1)
    # BertForMaskedLM computes the logits of all rows, and its loss ignores those that are not predicted.
    logits = model.cls(states[places[tensor("rows")]])
    return nn.functional.cross_entropy(logits, tensor("targets"))


def clip(parameters, most):
    """Clips the gradient like clip_grad_norm_, with the norm summed in fp64 as in Gyre. In fp32, PyTorch's norm of a
    large tensor is too small, by 3.5e-4 of the whole for a table of 8,000 x 256."""
    norm = sum(p.grad.double().square().sum().item() for p in parameters) ** 0.5
    for p in parameters:
        p.grad.mul_(min(1.0, most / (norm + 1e-6)))
    return norm


def train(model, options, batches, updates, entries):
    optimizer = make_optimizer(model, options)
    parameters = [p for p in model.parameters() if p.requires_grad]
    start = time.perf_counter()
    for update in range(1, updates + 1):
        rate = learning_rate(options, update - 1)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, batches, update)
        loss.backward()
        norm = clip(parameters, options["clip-norm"])
        optimizer.step()
        entry = {"event": "train", "updates": update, "loss": loss.item(), "learning_rate": rate,
                 "gradient_norm": norm, "seconds": round(time.perf_counter() - start, 3)}
        entries.write(json.dumps(entry) + "\n")
        entries.flush()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", required=True, help="directory of gyre export --to hf")
    parser.add_argument("--batches", required=True, help="file of gyre inspect batches")
    parser.add_argument("--options", required=True, help="train.toml of the Gyre run")
    parser.add_argument("--updates", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", required=True, type=pathlib.Path, help="directory for metrics.jsonl")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    options = tomllib.loads(pathlib.Path(args.options).read_text())
    require_known(options)
    model = load_model(args.weights)
    args.output.mkdir(parents=True, exist_ok=True)
    unfinished = args.output / "metrics.jsonl.tmp"
    with safe_open(args.batches, "pt") as batches, open(unfinished, "w") as entries:
        seconds = train(model, options, batches, args.updates, entries)
    unfinished.rename(args.output / "metrics.jsonl")
    print(f"{type(model).__name__} of transformers {transformers_version}, torch {torch.__version__}: "
          f"{args.updates} updates in {seconds:.0f} s on {args.threads} thread(s)")


if __name__ == "__main__":
    main()
