"""Golden models of tests/train/pretrained/decoders_test.cpp: tiny causal models of Hugging Face's transformers with random
weights, of odd sizes, and their logits in f64.

Writes decoders/<model>/{config.json, model.safetensors}, decoders/logits.json and decoders/beams.json, continuations
that generate() finds by beam search, next to this script. With DIR as an
argument, computes the logits of the models in DIR/<model> instead, and prints their largest difference from the golden
ones: that is how exported models are compared. Needs torch and transformers (4.57 or later).
"""
import json
import pathlib
import sys

import torch
from transformers import (AutoModelForCausalLM, GPT2Config, GPTNeoXConfig, LlamaConfig, MistralConfig, Qwen2Config,
                          Qwen3Config, StoppingCriteria, StoppingCriteriaList)

FOLDER = pathlib.Path(__file__).with_name("decoders")
IDS = [[4, 7, 3, 9, 2, 11, 16, 1, 4, 4, 12, 6], [5], [10, 6, 8]]

# Widths and heads of three shapes of each family.
SHARED = dict(vocab_size=19, max_position_embeddings=40, initializer_range=0.05)
SHAPES = [dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2, intermediate_size=20),
          dict(hidden_size=20, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, intermediate_size=13),
          dict(hidden_size=18, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=3, intermediate_size=7)]
YARN = {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 10}  # 3 is not 40 / 10
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.5, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
NEOX = [{k: v for k, v in shape.items() if k != "num_key_value_heads"} for shape in SHAPES]
GPT2 = dict(vocab_size=19, n_positions=40, initializer_range=0.05)

MODELS = {
    "llama": LlamaConfig(**SHARED, **SHAPES[0], rope_theta=500000.0),
    "llama-tied": LlamaConfig(**SHARED, **SHAPES[1], tie_word_embeddings=True, rope_scaling=YARN),
    "llama-linear": LlamaConfig(**SHARED, **SHAPES[2], rope_scaling={"rope_type": "linear", "factor": 2.5}),
    "llama3": LlamaConfig(**SHARED, **SHAPES[1], head_dim=16, rope_theta=1000.0, rope_scaling=LLAMA3),
    "mistral": MistralConfig(**SHARED, **SHAPES[0], sliding_window=5, head_dim=10),
    "qwen2": Qwen2Config(**SHARED, **SHAPES[1]),
    "qwen3": Qwen3Config(**SHARED, **SHAPES[2], head_dim=8),
    "gpt-neox": GPTNeoXConfig(**SHARED, **NEOX[0], rotary_pct=0.5),
    "gpt-neox-sequential": GPTNeoXConfig(**SHARED, **NEOX[1], rotary_pct=0.4, use_parallel_residual=False),
    "gpt-neox-tied": GPTNeoXConfig(**SHARED, **NEOX[2], rotary_pct=1.0, tie_word_embeddings=True),
    "gpt2": GPT2Config(**GPT2, n_embd=24, n_layer=2, n_head=6),
    "gpt2-narrow": GPT2Config(**GPT2, n_embd=20, n_layer=1, n_head=2, n_inner=13),
    "gpt2-relu": GPT2Config(**GPT2, n_embd=18, n_layer=3, n_head=3, n_inner=7, activation_function="relu"),
}


def lively(model):
    """Weights for which every part of the model matters, exact in f32."""
    torch.manual_seed(11)
    with torch.no_grad():
        for key, p in model.named_parameters():
            is_norm = "norm" in key or ".ln_" in key
            p.copy_(((torch.randn_like(p) * 0.3 + (is_norm and key.endswith("weight"))) * 1024).round() / 1024)
    return model.eval()


def logits_of(model):
    model = model.double()
    with torch.no_grad():
        return [model(torch.tensor([ids])).logits[0].tolist() for ids in IDS]


# Models of a beam search, the EOS that some of their continuations have, and its options.
SEARCHED = {"llama": 14, "mistral": 0, "gpt2": 9}
SEARCHES = [dict(num_beams=beams, length_penalty=penalty, early_stopping=False, max_new_tokens=most)
            for beams, penalty, most in ((3, 1.0, 7), (2, 0.0, 9), (4, 2.0, 12))]
SEARCHES += [SEARCHES[2] | dict(repetition_penalty=penalty) for penalty in (1.5, 0.7)]
SEARCHES += [SEARCHES[0] | dict(stop=5), SEARCHES[2] | dict(stop=3, repetition_penalty=1.5)]


class StopToken(StoppingCriteria):
    """Ends a text after a token, as a stop string of that token would."""

    def __init__(self, token):
        self.token = token

    def __call__(self, input_ids, scores, **kwargs):
        return input_ids[:, -1] == self.token


def beams_of(model, eos):
    """The hypotheses of each search and prompt: ids with the EOS, if there is one, and scores."""
    results = []
    for search in SEARCHES:
        options = {key: value for key, value in search.items() if key != "stop"}
        if "stop" in search:
            options["stopping_criteria"] = StoppingCriteriaList([StopToken(search["stop"])])
        for prompt in IDS[:1] + IDS[2:]:
            found = model.generate(torch.tensor([prompt]), eos_token_id=eos, pad_token_id=0, do_sample=False,
                                   num_return_sequences=search["num_beams"], output_scores=True,
                                   return_dict_in_generate=True, **options)
            texts = [ids[len(prompt):] for ids in found.sequences.tolist()]
            for end in (eos, search.get("stop")):
                texts = [ids[:ids.index(end) + 1] if end in ids else ids for ids in texts]
            results.append(search | {"prompt": prompt, "ids": texts, "scores": rounded(found.sequences_scores.tolist())})
    return {"eos": eos, "searches": results}


def load(directory):
    return AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager", dtype=torch.float32)


def rounded(value):
    return [rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.9g}")


def compare(folder):
    golden = json.loads((FOLDER / "logits.json").read_text())["logits"]
    for directory in sorted(p for p in folder.iterdir() if p.is_dir()):
        got, expected = logits_of(load(directory)), golden[directory.name]
        flat = lambda rows: torch.tensor([x for sequence in rows for row in sequence for x in row])
        worst, largest = (flat(got) - flat(expected)).abs().max().item(), flat(expected).abs().max().item()
        print(f"{directory.name}: largest difference {worst:.2e}, {worst / largest:.2e} of the largest logit")


def main():
    logits, beams = {}, {}
    for name, config in MODELS.items():
        model = lively(AutoModelForCausalLM.from_config(config, attn_implementation="eager"))
        model.save_pretrained(FOLDER / name)
        (FOLDER / name / "generation_config.json").unlink(missing_ok=True)
        logits[name] = rounded(logits_of(model))
        if name in SEARCHED:
            beams[name] = beams_of(model, SEARCHED[name])
    golden = {"ids": IDS, "token_types": [[0] * len(ids) for ids in IDS], "logits": logits}
    (FOLDER / "logits.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    (FOLDER / "beams.json").write_text(json.dumps(beams, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    compare(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else main()
