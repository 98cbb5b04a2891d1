"""Fine-tunes a causal language model on answers in Hugging Face transformers, whole or with adapters of PEFT, for
tools/bench/peers/compare_fine_tuning.sh.

The recipe is that of the script: AdamW without weight decay, a cosine schedule without warm-up, clipping by the global
norm, fp32. A sample is a conversation in the template of the tokenizer; its loss is that of the last answer, up to the
token that ends it. The loss of a batch is the mean over the tokens of its answers. Prints the loss of the held-out
answers before the training and after each epoch, as a JSON object per line.
"""
import argparse
import json
import math
import random

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

IGNORED = -100  # label of a token without a loss


def read_samples(path, tokenizer):
    """Ids and labels of each conversation."""

    def ids_of(messages, asks):
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks)
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    samples = []
    with open(path) as lines:
        for line in lines:
            messages = json.loads(line)["messages"]
            prompt, ids = ids_of(messages[:-1], True), ids_of(messages, False)
            assert ids[: len(prompt)] == prompt, line
            end = max(i for i, token in enumerate(ids) if token == tokenizer.eos_token_id)
            ids = ids[: end + 1]
            samples.append((ids, [IGNORED] * len(prompt) + ids[len(prompt) :]))
    return samples


def loss_of(model, samples):
    """The sum of the losses of all answers, and the number of their tokens."""
    width = max(len(ids) for ids, _ in samples)
    inputs = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in samples])
    labels = torch.tensor([labels + [IGNORED] * (width - len(labels)) for _, labels in samples])
    mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in samples])
    logits = model(input_ids=inputs, attention_mask=mask).logits[:, :-1]
    targets = labels[:, 1:].reshape(-1)
    loss = cross_entropy(logits.reshape(targets.numel(), -1), targets, ignore_index=IGNORED, reduction="sum")
    return loss, int((targets != IGNORED).sum())


def held_out_loss(model, samples, size):
    model.eval()
    with torch.no_grad():
        parts = [loss_of(model, samples[i : i + size]) for i in range(0, len(samples), size)]
    model.train()
    return float(sum(loss for loss, _ in parts)) / sum(tokens for _, tokens in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("model", "train", "valid"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--learn-rate", type=float, required=True)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rank", type=int, default=0, help="rank of the adapters; 0: all weights are trained")
    parser.add_argument("--alpha", type=float, default=16)
    parser.add_argument("--targets", nargs="*", default=["q_proj", "v_proj"])
    options = parser.parse_args()

    torch.manual_seed(1)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    train, valid = (read_samples(path, tokenizer) for path in (options.train, options.valid))
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    if options.rank > 0:
        from peft import LoraConfig, get_peft_model

        adapters = LoraConfig(r=options.rank, lora_alpha=options.alpha, target_modules=options.targets)
        model = get_peft_model(model, adapters)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=options.learn_rate, weight_decay=0)
    updates = math.ceil(len(train) / options.batch) * options.epochs
    schedule = get_cosine_schedule_with_warmup(optimizer, 0, updates)
    order, shuffler = list(range(len(train))), random.Random(1)
    print(json.dumps({"epoch": 0, "loss": held_out_loss(model, valid, options.batch)}), flush=True)
    for epoch in range(1, options.epochs + 1):
        shuffler.shuffle(order)
        for first in range(0, len(order), options.batch):
            loss, tokens = loss_of(model, [train[i] for i in order[first : first + options.batch]])
            (loss / tokens).backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        print(json.dumps({"epoch": epoch, "loss": held_out_loss(model, valid, options.batch)}), flush=True)


main()
