"""Continues a prompt in llama.cpp on the CPU, for tools/bench/peers/compare_llama_cpp.sh.

The model is an export of gyre export --to gguf. Prints one JSON object: the tokens of the prompt, and tokens per second
of the prompt and of its greedy continuation, as llama.cpp measures them.
"""
import argparse
import json
import os
import pathlib

import xllamacpp


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompt", type=pathlib.Path, required=True, help="a file")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--tokens", type=int, default=64)
    options = parser.parse_args()
    prompt = options.prompt.read_text()
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.n_ctx = 2 * len(prompt.split()) + options.tokens + 64
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    server = xllamacpp.Server(params)

    def timings(text, tokens):
        result = server.handle_completions({"prompt": text, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
                                            "cache_prompt": False})
        return result["timings"]

    timings("a", 2)  # warm-up
    measured = timings(prompt, options.tokens)
    print(json.dumps({"prompt_tokens": measured["prompt_n"],
                      "prompt_tokens_per_second": round(measured["prompt_per_second"], 1),
                      "tokens_per_second": round(measured["predicted_per_second"], 1)}, separators=(",", ":")))


if __name__ == "__main__":
    main()
