#!/usr/bin/env python3
"""Writes gguf.json: the keys, and the names, sizes and checksums of the tensors, that llama.cpp's converter gives to the
models in decoders/. Names are those of llama.cpp's package; the layouts are those of its convert_hf_to_gguf.py. Needs:
pip install gguf safetensors (gguf 0.17 or later)."""
import json
import pathlib

import gguf
import numpy
from safetensors.numpy import load_file

FOLDER = pathlib.Path(__file__).parent
ARCHITECTURES = {"llama": "LLAMA", "mistral": "LLAMA", "qwen2": "QWEN2", "qwen3": "QWEN3", "gpt_neox": "GPTNEOX", "gpt2": "GPT2"}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def permuted(weights, heads):
    """The rows of each head with the two features of a pair side by side."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:]).swapaxes(1, 2).reshape(weights.shape)


def tensors(config, weights, architecture):
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    names = gguf.get_tensor_name_map(architecture, layers)
    heads = config.get("num_attention_heads", config.get("n_head"))
    result = {}
    for name, values in weights.items():
        if architecture == gguf.MODEL_ARCH.GPT2 and values.ndim == 2 and ".h." in name:
            values = values.T
        if architecture == gguf.MODEL_ARCH.LLAMA and ".q_proj." in name:
            values = permuted(values, heads)
        if architecture == gguf.MODEL_ARCH.LLAMA and ".k_proj." in name:
            values = permuted(values, config["num_key_value_heads"])
        if ".query_key_value." in name:
            values = values.reshape(heads, 3, -1, *values.shape[1:]).swapaxes(0, 1).reshape(values.shape)
        result[names.get_name(name, (".weight", ".bias"))] = values
    if architecture == gguf.MODEL_ARCH.GPTNEOX and "output.weight" not in result:
        result["output.weight"] = result["token_embd.weight"]
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "llama3":
        width = config["head_dim"]
        theta = config["rope_theta"] ** (-numpy.arange(0, width, 2) / width)
        wave, original = 2 * numpy.pi / theta, scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = (original / wave - low) / (high - low)
        factors = 1 / ((1 - smooth) / scaling["factor"] + smooth)
        factors[wave < original / high] = 1
        factors[wave > original / low] = scaling["factor"]
        result["rope_freqs.weight"] = factors
    return result


def keys(config, architecture):
    name = gguf.MODEL_ARCH_NAMES[architecture]
    get = lambda *keys: next((config[key] for key in keys if config.get(key) is not None), None)
    K = gguf.Keys
    heads, width = get("num_attention_heads", "n_head"), get("hidden_size", "n_embd")
    head = get("head_dim") or width // heads
    result = {
        K.General.ARCHITECTURE: name, K.LLM.VOCAB_SIZE: config["vocab_size"],
        K.LLM.CONTEXT_LENGTH: min(get("max_position_embeddings", "n_positions"), get("sliding_window") or 1000),
        K.LLM.EMBEDDING_LENGTH: width, K.LLM.BLOCK_COUNT: get("num_hidden_layers", "n_layer"),
        K.LLM.FEED_FORWARD_LENGTH: get("intermediate_size", "n_inner") or 4 * width,
        K.Attention.HEAD_COUNT: heads, K.Attention.HEAD_COUNT_KV: get("num_key_value_heads") or heads,
        K.Attention.KEY_LENGTH: head, K.Attention.VALUE_LENGTH: head}
    if (epsilon := get("rms_norm_eps")) is not None:
        result[K.Attention.LAYERNORM_RMS_EPS] = epsilon
    else:
        result[K.Attention.LAYERNORM_EPS] = get("layer_norm_eps", "layer_norm_epsilon")
    if architecture != gguf.MODEL_ARCH.GPT2:
        result[K.Rope.DIMENSION_COUNT] = int(head * config.get("rotary_pct", 1))
        result[K.Rope.FREQ_BASE] = get("rotary_emb_base", "rope_theta")
    if architecture == gguf.MODEL_ARCH.GPTNEOX:
        result[K.LLM.USE_PARALLEL_RESIDUAL] = config["use_parallel_residual"]
    scaling = config.get("rope_scaling") or {}
    if (kind := scaling.get("rope_type")) in ("linear", "yarn"):
        result[K.Rope.SCALING_TYPE] = kind
        result[K.Rope.SCALING_FACTOR] = scaling["factor"]
        if kind == "yarn":
            result[K.Rope.SCALING_ORIG_CTX_LEN] = scaling["original_max_position_embeddings"]
    return {key.format(arch=name): value for key, value in result.items()}


def main():
    golden = {}
    for folder in sorted(path.parent for path in FOLDER.glob("decoders/*/config.json")):
        config = json.loads((folder / "config.json").read_text())
        if config.get("activation_function") == "relu":
            continue  # llama.cpp has no such GPT-2
        architecture = gguf.MODEL_ARCH[ARCHITECTURES[config["model_type"]]]
        weights = load_file(folder / "model.safetensors")
        golden[folder.name] = {"keys": keys(config, architecture), "tensors": {
            name: {"sizes": list(values.shape)[::-1], "crc32c": crc32c(numpy.ascontiguousarray(values, numpy.float32).tobytes())}
            for name, values in sorted(tensors(config, weights, architecture).items())}}
    lines = [f"{json.dumps(name)}: {json.dumps(model, separators=(',', ':'))}" for name, model in golden.items()]
    (FOLDER / "gguf.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
