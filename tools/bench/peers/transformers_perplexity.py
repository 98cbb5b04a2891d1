"""The perplexity of a causal language model in Hugging Face transformers, as gyre evaluate extrapolation --protocol full
measures it without tokens that begin a text: documents, each with the token that ends a text, are one sequence, which is
cut into whole blocks of a length; the first token of a block is not scored. Prints one JSON object.
"""
import argparse
import json
import math
import pathlib

import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True, help="documents separated by blank lines")
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--tokens", type=int, default=65536)
    options = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32).eval()
    sequence = []
    for document in options.text.read_text(encoding="utf-8").split("\n\n"):
        if document.strip() and len(sequence) < options.tokens:
            sequence += tokenizer(document.strip("\n"), add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
    sequence = sequence[: options.tokens]
    nll, scored = 0.0, 0
    with torch.no_grad():
        for begin in range(0, len(sequence) - options.length + 1, options.length):
            block = torch.tensor(sequence[begin : begin + options.length])
            logits = model(input_ids=block[None]).logits[0, :-1]
            nll += float(cross_entropy(logits.double(), block[1:], reduction="sum"))
            scored += len(block) - 1
    print(json.dumps({"length": options.length, "tokens": scored, "perplexity": math.exp(nll / scored)}))


main()
