"""Makes tiny models with random weights in the layouts of published Chinese checkpoints, and their logits.

A layout has the keys of config.json and the names of tensors of a checkpoint on the hub, with small sizes. Writes
chinese/<layout>/{config.json, model.safetensors, vocab.txt, tokenizer_config.json} and chinese/logits.json next to this
script. Needs torch, safetensors and transformers 4.40, one of the versions that have NEZHA.
"""
import json
import pathlib

import torch
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMaskedLM, BertForPreTraining, NezhaConfig, NezhaForMaskedLM,
                          NezhaForPreTraining, NezhaForSequenceClassification, RoFormerConfig, RoFormerForMaskedLM)

CHARACTERS = "[PAD] [UNK] [CLS] [SEP] [MASK] 今 天 气 很 好 我 们 去 公 园 玩 。 a ##b".split()
WORDS = CHARACTERS + "今天 天气 公园 我们".split()
IDS = [[2], [2, 3], [2, 5, 6, 4, 7, 8, 9, 16, 3], [2, 10, 11, 12, 3, 13, 14, 4, 15, 17, 18, 16, 3]]
TYPES = [[0], [0, 1], [0] * 9, [0] * 5 + [1] * 8]
COMMON = {"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
          "initializer_range": 0.02, "layer_norm_eps": 1e-12, "type_vocab_size": 2, "pad_token_id": 0}
BERT = {"architectures": ["BertForMaskedLM"], "model_type": "bert", "directionality": "bidi"}
POOLER = {"pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3,
          "pooler_size_per_head": 128, "pooler_type": "first_token_transform"}
NEZHA = {"use_relative_position": True, "max_relative_position": 64}


def sizes(hidden, heads, layers, inner, pieces, positions=16):
    return {**COMMON, "hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers,
            "intermediate_size": inner, "vocab_size": len(pieces), "max_position_embeddings": positions}


def old_norms(tensors):
    return {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
            for name, tensor in tensors.items()}


def without(tensors, part):
    return {name: tensor for name, tensor in tensors.items() if part not in name}


def bert_base_chinese(model):
    return old_norms(without(model.state_dict(), "decoder"))


def chinese_roberta(model):
    return without(model.state_dict(), "decoder.bias")


def wobert(model):
    positions = torch.arange(model.config.max_position_embeddings)[None]
    return {"bert.embeddings.position_ids": positions, **model.state_dict()}


def nezha(model):
    """The positions were part of a file before transformers 4.29."""
    kept = {name: tensor for name, tensor in model.named_buffers() if name.endswith("positions_encoding")}
    return {**model.state_dict(), **kept}


def nezha_as_bert(model):
    return {name.replace("nezha.", "bert."): tensor for name, tensor in nezha(model).items()}


def as_saved(model):
    return model.state_dict()


# By name: the class, its config, the keys of config.json in addition, the tensors of the file, and the pieces.
LAYOUTS = {
    "bert-base-chinese": (BertForPreTraining, BertConfig, {**BERT, **POOLER, **sizes(12, 3, 2, 17, CHARACTERS)},
                          bert_base_chinese, CHARACTERS),
    "chinese-roberta-wwm-ext": (BertForPreTraining, BertConfig,
                                {**BERT, **POOLER, **sizes(10, 5, 1, 13, CHARACTERS), "bos_token_id": 0,
                                 "eos_token_id": 2, "output_past": True}, chinese_roberta, CHARACTERS),
    "wobert-chinese-base": (BertForMaskedLM, BertConfig,
                            {**BERT, **POOLER, **sizes(9, 3, 2, 11, WORDS), "gradient_checkpointing": False,
                             "position_embedding_type": "absolute", "use_cache": True}, wobert, WORDS),
    "nezha-cn-base": (NezhaForMaskedLM, NezhaConfig,
                      {"architectures": ["NeZhaForMaskedLM"], "model_type": "nezha",
                       **sizes(12, 3, 2, 15, CHARACTERS, 18), **NEZHA, "max_relative_position": 4, "bos_token_id": 2,
                       "eos_token_id": 3, "classifier_dropout": 0.1, "embedding_size": 128, "inner_group_num": 1,
                       "num_hidden_groups": 1, "use_cache": True}, nezha, CHARACTERS),
    "nezha-chinese-base": (NezhaForPreTraining, NezhaConfig, {**BERT, **sizes(8, 1, 1, 7, CHARACTERS), **NEZHA},
                           nezha_as_bert, CHARACTERS),
    "nezha-classifier": (NezhaForSequenceClassification, NezhaConfig,
                         {"architectures": ["NezhaForSequenceClassification"], "model_type": "nezha",
                          **sizes(12, 2, 1, 9, CHARACTERS), "max_relative_position": 3, "classifier_dropout": 0.25,
                          "id2label": {"0": "A", "1": "B", "2": "C"}, "label2id": {"A": 0, "B": 1, "C": 2}},
                         as_saved, CHARACTERS),
    "roformer-chinese-base": (RoFormerForMaskedLM, RoFormerConfig,
                              {"architectures": ["RoFormerForMaskedLM"], "model_type": "roformer",
                               **sizes(12, 3, 2, 15, WORDS, 24), "embedding_size": 12}, as_saved, WORDS),
    "roformer-chinese-char-small": (RoFormerForMaskedLM, RoFormerConfig,
                                    {"architectures": ["RoFormerForMaskedLM"], "model_type": "roformer",
                                     **sizes(6, 1, 1, 5, CHARACTERS), "embedding_size": 6, "rotary_value": False,
                                     "gradient_checkpointing": False, "use_cache": True}, as_saved, CHARACTERS),
}


def logits(model):
    model = model.double().eval()
    found = []
    for ids, types in zip(IDS, TYPES):
        output = model(torch.tensor([ids]), token_type_ids=torch.tensor([types]))
        found.append((output.prediction_logits if "prediction_logits" in output else output.logits)[0].tolist())
    return found


def make(directory, kind, config_kind, config, tensors_of, pieces):
    torch.manual_seed(7)
    model = kind(config_kind(**config))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad:
                p.copy_(torch.randn_like(p) * 0.4 + ("LayerNorm.weight" in name))
    model.tie_weights()
    directory.mkdir(parents=True, exist_ok=True)
    save_file({name: t.contiguous().clone() for name, t in tensors_of(model).items()},
              directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (directory / "vocab.txt").write_text("\n".join(pieces) + "\n")
    kind = "RoFormerTokenizer" if directory.name == "roformer-chinese-base" else "BertTokenizer"
    (directory / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "tokenizer_class": kind}) + "\n")
    return logits(model)


def main():
    folder = pathlib.Path(__file__).with_name("chinese")
    golden = {"ids": IDS, "token_types": TYPES,
              "logits": {name: make(folder / name, *layout) for name, layout in LAYOUTS.items()}}
    text = json.dumps(golden, separators=(",", ":"))
    rounded = json.loads(text, parse_float=lambda x: round(float(x), 7))
    (folder / "logits.json").write_text(json.dumps(rounded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
