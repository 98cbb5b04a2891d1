"""Fine-tunes an encoder on a GLUE task in Hugging Face transformers, for tools/experiments/glue.sh.

The recipe is that of tools/recipes/glue.toml with rows of at most 128 tokens: AdamW, a linear schedule with a warm-up of
10 %, three epochs, batches of 32, clipping by the norm 1, a new head with its pooler, fp32. Prints one JSON object: the metric of the task after each epoch, the best of
them, the seconds of training with validation, and the MiB of memory without mapped files.
"""
import argparse
import csv
import json
import math
import random
import time

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

# The columns of the texts, the column of the label, and the classes (none: a score).
TASKS = {
    "cola": (["3"], "1", ["0", "1"]),
    "sst2": (["sentence"], "label", ["0", "1"]),
    "mrpc": (["3", "4"], "0", ["0", "1"]),
    "rte": (["sentence1", "sentence2"], "label", ["entailment", "not_entailment"]),
    "qnli": (["question", "sentence"], "label", ["entailment", "not_entailment"]),
    "stsb": (["sentence1", "sentence2"], "score", None),
}


def read_rows(path, task):
    texts, label, classes = TASKS[task]
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    names = {str(i): i for i in range(len(rows[0]))}
    if rows[0][0] == "Quality":  # MRPC is distributed with and without a header line
        rows.pop(0)
    if not label.isdigit():
        names |= {name: i for i, name in enumerate(rows.pop(0))}
    value = float if classes is None else classes.index
    return [([row[names[t]] for t in texts], value(row[names[label]])) for row in rows]


def metric(task, predicted, expected):
    n = len(expected)
    if task == "stsb":  # Spearman's correlation
        return pearson(ranks(predicted), ranks(expected))
    hits = [sum(p == e == c for p, e in zip(predicted, expected)) for c in (0, 1)]
    wrong = sum(p == 1 and e == 0 for p, e in zip(predicted, expected)), sum(p == 0 and e == 1 for p, e in zip(predicted, expected))
    if task == "cola":  # Matthews' correlation
        product = (hits[1] + wrong[0]) * (hits[1] + wrong[1]) * (hits[0] + wrong[0]) * (hits[0] + wrong[1])
        return (hits[0] * hits[1] - wrong[0] * wrong[1]) / math.sqrt(product) if product else 0.0
    if task == "mrpc":
        return 2 * hits[1] / (2 * hits[1] + sum(wrong))
    return sum(hits) / n


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            result[order[k]] = (i + j) / 2
        i = j + 1
    return result


def pearson(a, b):
    x, y = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
    return float(torch.corrcoef(torch.stack([x, y]))[0, 1])


def anonymous_memory():
    """KiB without mapped files, such as libraries, as Gyre counts it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "train", "valid"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--learn-rate", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-length", type=int, default=128)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    classes = TASKS[options.task][2]
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForSequenceClassification.from_pretrained(
        options.model, num_labels=len(classes) if classes else 1, dtype=torch.float32)
    if model.base_model.pooler is not None:  # the whole head is new, as in Gyre
        model.base_model.pooler.apply(model._init_weights)
    train, valid = (read_rows(path, options.task) for path in (options.train, options.valid))

    def tokens_of(rows):
        return [(tokenizer(*texts, truncation=True, max_length=options.max_length), label) for texts, label in rows]

    train, valid = tokens_of(train), tokens_of(valid)

    def batch_of(rows):
        batch = tokenizer.pad([row[0] for row in rows], return_tensors="pt")
        return batch, torch.tensor([row[1] for row in rows], dtype=torch.long if classes else torch.float32)

    decayed = [p for name, p in model.named_parameters() if p.dim() > 1]
    others = [p for name, p in model.named_parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0}],
                                  lr=options.learn_rate, betas=(0.9, 0.999), eps=1e-6)
    updates = math.ceil(len(train) / options.batch) * options.epochs
    schedule = get_linear_schedule_with_warmup(optimizer, round(updates / 10), updates)
    shuffler, scores, start = random.Random(options.seed), [], time.perf_counter()
    for _ in range(options.epochs):
        model.train()
        shuffler.shuffle(train)
        for first in range(0, len(train), options.batch):
            inputs, labels = batch_of(train[first : first + options.batch])
            model(**inputs, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        model.eval()
        predicted = []
        with torch.no_grad():
            for first in range(0, len(valid), options.batch):
                logits = model(**batch_of(valid[first : first + options.batch])[0]).logits
                predicted += (logits.argmax(-1) if classes else logits[:, 0]).tolist()
        scores.append(metric(options.task, predicted, [row[1] for row in valid]))
    print(json.dumps({"scores": scores, "best": max(scores), "seconds": round(time.perf_counter() - start, 1),
                      "mib": anonymous_memory() / 2**10}))


main()
