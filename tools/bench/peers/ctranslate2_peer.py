"""Runs a Gyre model in CTranslate2 to compare decoding: converts the weights, translates the same text, prints JSON.

usage: ctranslate2_peer.py --model CHECKPOINT --config CONFIG --vocab SENTENCEPIECE --input TEXT [--beam-size N]
       [--length-penalty A] [--threads N] [--batch SENTENCES] [--repetitions N] [--compute-type WORD] [--output FILE]
The model must have sinusoidal positions (half-split) and tied embeddings, because CTranslate2's encoder-decoder has no
rotary positions.
"""
import argparse
import json
import pathlib
import statistics
import tempfile
import time

import ctranslate2
import numpy
import sentencepiece
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.numpy import load_file


def sinusoids(positions, dim):
    frequencies = 10000.0 ** (-numpy.arange(dim // 2) / (dim // 2 - 1))
    angles = numpy.arange(positions)[:, None] * frequencies[None]
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], 1).astype(numpy.float32)


class Converter:
    def __init__(self, weights, config, pieces):
        self.w, self.c = weights, config
        layers = (config["encoder_layers"], config["decoder_layers"])
        activation = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}[config["activation"]]
        self.spec = transformer_spec.TransformerSpec.from_config(layers, config["heads"], pre_norm=config["norm"] == "pre",
                                                                 activation=activation)
        self.stack(self.spec.encoder, "encoder")
        self.stack(self.spec.decoder, "decoder")
        self.spec.encoder.embeddings[0].weight = self.table()
        self.spec.decoder.embeddings.weight = self.table()
        self.spec.decoder.projection.weight = self.table()
        self.spec.register_source_vocabulary(pieces)
        self.spec.register_target_vocabulary(pieces)
        # Same as Gyre's decoder: BOS starts the target, EOS ends both sides, and nothing else is added.
        self.spec.config.add_source_bos, self.spec.config.add_source_eos = False, True
        self.spec.config.decoder_start_token = pieces[1]
        self.spec.config.bos_token, self.spec.config.eos_token, self.spec.config.unk_token = pieces[1], pieces[2], pieces[0]

    def table(self):
        return self.w["embed_tokens.weight"]

    def linear(self, spec, name):
        spec.weight, spec.bias = self.w[name + ".weight"], self.w[name + ".bias"]

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.w[name + ".weight"], self.w[name + ".bias"]

    def stack(self, spec, name):
        spec.scale_embeddings = self.c["scale_embedding"]
        spec.position_encodings.encodings = sinusoids(self.c["position"]["max_positions"], self.c["dim"])
        if self.c["norm"] == "pre":
            self.norm(spec.layer_norm, name + ".layer_norm")
        for i, layer in enumerate(spec.layer):
            base = f"{name}.layers.{i}"
            self.linear(layer.self_attention.linear[0], base + ".self_attn.qkv_proj")
            self.linear(layer.self_attention.linear[1], base + ".self_attn.out_proj")
            self.norm(layer.self_attention.layer_norm, base + ".self_attn_layer_norm")
            if name == "decoder":
                self.linear(layer.attention.linear[0], base + ".encoder_attn.q_proj")
                self.linear(layer.attention.linear[1], base + ".encoder_attn.kv_proj")
                self.linear(layer.attention.linear[2], base + ".encoder_attn.out_proj")
                self.norm(layer.attention.layer_norm, base + ".encoder_attn_layer_norm")
            self.linear(layer.ffn.linear_0, base + ".fc1")
            self.linear(layer.ffn.linear_1, base + ".fc2")
            self.norm(layer.ffn.layer_norm, base + ".final_layer_norm")


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "config", "vocab", "input"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--length-penalty", type=float, default=0.6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--compute-type", default="float32")
    o = parser.parse_args()
    config = json.loads(o.config.read_text())
    if config["position"]["encoding"] != "sinusoidal":
        raise SystemExit(f"[model] expected sinusoidal positions, got {config['position']['encoding']}")
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(o.vocab))
    pieces = [vocabulary.id_to_piece(i) for i in range(vocabulary.get_piece_size())]
    converter = Converter(load_file(o.model), config, pieces)
    sources = [vocabulary.encode(line, out_type=str) for line in o.input.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as directory:
        converter.spec.validate()
        converter.spec.save(directory)
        translator = ctranslate2.Translator(directory, inter_threads=1, intra_threads=o.threads,
                                            compute_type=o.compute_type)
    call = dict(beam_size=o.beam_size, length_penalty=o.length_penalty, max_batch_size=o.batch, max_decoding_length=250,
                return_scores=False)
    seconds = []
    for _ in range(o.repetitions + 1):
        start = time.perf_counter()
        results = translator.translate_batch(sources, **call)
        seconds.append(time.perf_counter() - start)
    hypotheses = [r.hypotheses[0] for r in results]
    if o.output:
        o.output.write_text("".join(vocabulary.decode_pieces(h) + "\n" for h in hypotheses))
    median = statistics.median(seconds[1:])
    print(json.dumps({"ctranslate2": ctranslate2.__version__, "compute_type": translator.compute_type,
                      "sentences_per_second": round(len(sources) / median, 1),
                      "tokens": sum(len(h) + 1 for h in hypotheses), "seconds": round(median, 3)}))


if __name__ == "__main__":
    main()
