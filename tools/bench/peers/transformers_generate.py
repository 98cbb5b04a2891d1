"""Continues a prompt in Hugging Face transformers on the CPU, for tools/bench/peers/compare_generate.sh.

The model is an export of gyre export --to hf. Prints one JSON object: tokens per second of a prompt of `--prompt`
tokens, and of a greedy continuation of a prompt of 4.
"""
import argparse
import json
import time

import torch
from transformers import AutoModelForCausalLM, __version__ as transformers_version


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=64)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    dtype = torch.float32 if options.precision == "fp32" else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype).eval()

    def rate(length, tokens):
        ids = torch.randint(3, model.config.vocab_size, (1, length), generator=torch.Generator().manual_seed(1))
        mask = torch.ones_like(ids)
        start = time.perf_counter()
        model.generate(ids, attention_mask=mask, min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False)
        return time.perf_counter() - start

    with torch.inference_mode():
        rate(4, 4)  # warm-up
        continuation = (options.tokens - 1) / (rate(4, options.tokens) - rate(4, 1))
        prompt = options.prompt / rate(options.prompt, 1)
    print(json.dumps({"transformers": transformers_version, "precision": options.precision,
                      "prompt_tokens_per_second": round(prompt, 1),
                      "tokens_per_second": round(continuation, 1)}, separators=(",", ":")))


if __name__ == "__main__":
    main()
