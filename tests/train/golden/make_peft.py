"""Golden adapters of tests/train/pretrained/peft_test.cpp: LoRA of Hugging Face's PEFT with random weights for the tiny
models of decoders/ and hugging_face/, and the logits in f64 of the models with them.

Writes peft/<name>/{adapter_config.json, adapter_model.safetensors} and peft/logits.json next to this script. The logits
of merged adapters (merge_and_unload) must be the same. With DIR as an argument, loads the adapters in DIR/<name>
instead, and prints the largest difference of their logits: that is how exported adapters are compared. Needs torch,
transformers and peft (0.17 or later).
"""
import json
import pathlib
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "peft"
IDS = [[4, 7, 3, 9, 2, 11, 16, 1, 4, 4, 12, 6], [5], [10, 6, 8]]

# The model and the options of each adapter.
ADAPTERS = {
    "llama": ("decoders/llama", dict(r=3, lora_alpha=5, target_modules=["q_proj", "v_proj", "down_proj"])),
    "llama-all": ("decoders/llama", dict(r=2, lora_alpha=8, target_modules="all-linear", use_rslora=True)),
    "qwen3-layer": ("decoders/qwen3", dict(r=2, target_modules=r".*\.1\.self_attn\.[qk]_proj")),
    "gpt-neox": ("decoders/gpt-neox", dict(r=4, lora_alpha=3, target_modules=["query_key_value", "dense_h_to_4h"])),
    "gpt2": ("decoders/gpt2", dict(r=3, lora_alpha=7, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True,
                                   lora_dropout=0.125)),
    "bert": ("hugging_face/bert", dict(r=2, lora_alpha=6, target_modules=["query", "value", "dense"])),
}


def load(directory):
    kind = AutoModelForMaskedLM if "hugging_face" in directory else AutoModelForCausalLM
    return kind.from_pretrained(HERE / directory, attn_implementation="eager", dtype=torch.float32).eval()


def logits_of(model):
    model = model.double().eval()
    with torch.no_grad():
        return [model(torch.tensor([ids])).logits[0].tolist() for ids in IDS]


def rounded(value):
    return [rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.9g}")


def flat(rows):
    return torch.tensor([x for sequence in rows for row in sequence for x in row])


def made(name, directory, options):
    """The logits of a model with a new adapter, which is saved."""
    torch.manual_seed(5)
    model = get_peft_model(load(directory), LoraConfig(**options))
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "lora_" in key:
                p.copy_((torch.randn_like(p) * 0.3 * 1024).round() / 1024)
    model.save_pretrained(FOLDER / name)
    (FOLDER / name / "README.md").unlink(missing_ok=True)
    config = FOLDER / name / "adapter_config.json"
    saved = json.loads(config.read_text())
    saved["base_model_name_or_path"] = directory  # without the directory of this machine
    config.write_text(json.dumps(dict(sorted(saved.items())), indent=2) + "\n")
    logits = logits_of(model)
    merged = logits_of(model.merge_and_unload())
    assert (flat(logits) - flat(merged)).abs().max() < 1e-9
    return rounded(logits)


def main():
    logits = {name: made(name, *adapter) for name, adapter in ADAPTERS.items()}
    golden = {"ids": IDS, "token_types": [[0] * len(ids) for ids in IDS], "logits": logits}
    (FOLDER / "logits.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


def compare(folder):
    golden = json.loads((FOLDER / "logits.json").read_text())["logits"]
    for name, (directory, _) in ADAPTERS.items():
        got = flat(logits_of(PeftModel.from_pretrained(load(directory), folder / name)))
        print(f"{name}: largest difference {(got - flat(golden[name])).abs().max().item():.2e}")


if __name__ == "__main__":
    compare(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else main()
