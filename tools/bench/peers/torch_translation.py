"""Trains the translation model of a Gyre run in PyTorch on the CPU, to compare the quality that both reach in a time.

The run is one of gyre train nmt --task transformer-tiny --norm pre --position rope. Its first weights are a template
with --after 1u --lr-warmup 1 --lr-warmup-start-rate 0. The output has the names, shapes and metadata of the template;
config.json and vocab.model are written beside it, for gyre translate --model MODEL.safetensors. Progress goes to
stderr, one JSON object to stdout; its seconds are without reading text and compilation.

Same as in Gyre: the model and its initial weights, the places of dropout, the special tokens, the limit of 256 tokens
per sentence, how batches are sorted and cut, the loss, Adam with its defaults (0.9, 0.98, 1e-9), Muon's momentum, its
matrices and the size of its updates, and the schedule `linear` with warm-up. Different: random numbers, so also the
order of sentences; batches are padded, with padding masked; bf16 is torch.autocast, which keeps the residual stream in
fp32; torch.optim.Muon multiplies in bf16 with fp32 too. There is no BPE dropout.
"""
import argparse
import json
import pathlib
import random
import re
import sys
import time

import sentencepiece
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from torch_models import rope_angles, rotate

MAX_LENGTH, MAXI_BATCH = 256, 100  # the defaults of gyre train nmt
IGNORED = -100  # the target of padding
# What this script requires of config.json; it reads the sizes, the dropout and the epsilon of norms from there.
KNOWN = {"model": "encoder-decoder", "norm": "pre", "final_norm": True, "activation": "relu", "attention_dropout": 0,
         "activation_dropout": 0, "tied_embeddings": True, "tied_output": True, "scale_embedding": True,
         "kind": "softmax", "encoding": "rope", "rope_base": 10000, "rope_pairs": "interleaved", "rotary_dims": 0}


class Linear(nn.Module):
    """The weight is a stack of matrices: one parameter each, because Muon updates them one by one."""

    def __init__(self, inputs, *outputs):
        super().__init__()
        self.weight = nn.ParameterList(torch.empty(rows, inputs) for rows in outputs)
        self.bias = nn.Parameter(torch.empty(sum(outputs)))

    def forward(self, x):
        return F.linear(x, torch.cat(tuple(self.weight)) if len(self.weight) > 1 else self.weight[0], self.bias)


class Attention(nn.Module):
    def __init__(self, dim, heads, cross=False):
        super().__init__()
        self.heads = heads
        if cross:
            self.q_proj, self.kv_proj = Linear(dim, dim), Linear(dim, dim, dim)
        else:
            self.qkv_proj = Linear(dim, dim, dim, dim)
        self.out_proj = Linear(dim, dim)

    def split(self, x, parts=1):
        return x.unflatten(-1, (parts, self.heads, -1)).permute(2, 0, 3, 1, 4)

    def attend(self, q, k, v, **mask):
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, **mask).transpose(1, 2).flatten(2))

    def to_itself(self, x, angles, mask):
        """Causal if there is no mask."""
        q, k, v = self.split(self.qkv_proj(x), 3)
        return self.attend(rotate(q, angles), rotate(k, angles), v, attn_mask=mask, is_causal=mask is None)

    def to_source(self, x, source, mask):
        k, v = self.split(self.kv_proj(source), 2)
        return self.attend(self.split(self.q_proj(x))[0], k, v, attn_mask=mask)


class Layer(nn.Module):
    def __init__(self, config, dropout, cross):
        super().__init__()
        dim, heads, ffn = config["dim"], config["heads"], config["ffn"]
        norm = dict(normalized_shape=dim, eps=config["layer_norm_epsilon"])
        self.self_attn, self.self_attn_layer_norm = Attention(dim, heads), nn.LayerNorm(**norm)
        if cross:
            self.encoder_attn, self.encoder_attn_layer_norm = Attention(dim, heads, cross=True), nn.LayerNorm(**norm)
        self.fc1, self.fc2, self.final_layer_norm = Linear(dim, ffn), Linear(ffn, dim), nn.LayerNorm(**norm)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, angles, mask, source=None):
        own_mask = mask if source is None else None
        x = x + self.dropout(self.self_attn.to_itself(self.self_attn_layer_norm(x), angles, own_mask))
        if source is not None:
            x = x + self.dropout(self.encoder_attn.to_source(self.encoder_attn_layer_norm(x), source, mask))
        return x + self.dropout(self.fc2(F.relu(self.fc1(self.final_layer_norm(x)))))


class Stack(nn.Module):
    def __init__(self, config, dropout, layers, cross=False):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, dropout, cross) for _ in range(layers))
        self.layer_norm = nn.LayerNorm(config["dim"], eps=config["layer_norm_epsilon"])

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
        return self.layer_norm(x)


class Translation(nn.Module):
    """Parameters have the names of Gyre, with the number of the matrix added to weights of linear layers."""

    def __init__(self, config, dropout):
        super().__init__()
        self.scale = config["dim"] ** 0.5
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["dim"])
        self.encoder = Stack(config, dropout, config["encoder_layers"])
        self.decoder = Stack(config, dropout, config["decoder_layers"], cross=True)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("angles", rope_angles(MAX_LENGTH, config["dim"] // config["heads"]), persistent=False)

    def embed(self, ids):
        return self.dropout(self.embed_tokens(ids) * self.scale)

    def loss(self, source, mask, inputs, outputs, smoothing):
        """The mean over target tokens."""
        encoded = self.encoder(self.embed(source), self.angles, mask)
        states = self.decoder(self.embed(inputs), self.angles, mask, encoded)
        logits = F.linear(states, self.embed_tokens.weight).float()
        return F.cross_entropy(logits.flatten(0, 1), outputs.flatten(), label_smoothing=smoothing, ignore_index=IGNORED)

    def by_tensor(self):
        """The parameters of each tensor of a Gyre checkpoint."""
        tensors = {}
        for name, parameter in self.named_parameters():
            tensors.setdefault(re.sub(r"\.\d+$", "", name), []).append(parameter)
        return tensors

    @torch.no_grad()
    def load(self, path):
        with safe_open(path, "pt") as file:
            if set(file.keys()) != set(self.by_tensor()):
                raise SystemExit(f"{path}: expected the tensors of an encoder-decoder with tied embeddings, got others")
            for name, parameters in self.by_tensor().items():
                for parameter, value in zip(parameters, file.get_tensor(name).split([len(p) for p in parameters])):
                    parameter.copy_(value)

    def save(self, path, template):
        with safe_open(template, "pt") as file:
            metadata, dtypes = file.metadata(), {name: file.get_tensor(name).dtype for name in file.keys()}
        tensors = {name: torch.cat(p).detach().to(dtypes[name]) for name, p in self.by_tensor().items()}
        save_file(tensors, path, metadata)


def read_config(template):
    """The config of the run that the template belongs to, as text and as a flat object."""
    path = next((d / "config.json" for d in template.absolute().parents if (d / "config.json").exists()), None)
    if path is None:
        raise SystemExit(f"{template}: expected config.json in a directory above, found none")
    text = path.read_text()
    nested = json.loads(text)
    config = {**nested, **nested["attention"], **nested["position"]}
    for name, value in KNOWN.items():
        if config[name] != value:
            raise SystemExit(f"{path}: {name}: expected {value}, got {config[name]}")
    return text, config


def read_pairs(files, vocabulary):
    """(source </s>, <s> target </s>) of each pair that gyre train nmt keeps."""
    bos, eos = vocabulary.bos_id(), vocabulary.eos_id()
    texts = (file.read_bytes().decode().removesuffix("\n").split("\n") for file in files)
    sources, targets = (vocabulary.encode(text, num_threads=torch.get_num_threads()) for text in texts)
    return [(torch.tensor(s + [eos]), torch.tensor([bos] + t + [eos])) for s, t in zip(sources, targets, strict=True)
            if 0 < len(s) < MAX_LENGTH and 0 < len(t) < MAX_LENGTH]


def plan_epoch(pairs, budget, order):
    """Batches of at most `budget` target tokens: same as in data/batch/batch_plan.h but for the random numbers."""
    waiting = order.sample(pairs, len(pairs))
    batches, batch = [], []
    while waiting:
        window, room = batch, budget * MAXI_BATCH - sum(len(t) - 1 for _, t in batch)
        while waiting and room > 0:
            window.append(waiting.pop())
            room -= len(window[-1][1]) - 1
        window.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        batch, used = [], 0
        for pair in window:
            cost = len(pair[1]) - 1
            if batch and used + cost > budget:
                batches.append(batch)
                batch, used = [], 0
            batch.append(pair)
            used += cost
    batches.append(batch)
    order.shuffle(batches)
    return batches


def padded(batch):
    """Source, mask of its tokens, inputs and outputs of the decoder, and the numbers of source and target tokens."""
    lengths = torch.tensor([len(source) for source, _ in batch])
    source = pad_sequence([source for source, _ in batch], batch_first=True)
    mask = (torch.arange(source.shape[1]) < lengths[:, None])[:, None, None]
    inputs = pad_sequence([target[:-1] for _, target in batch], batch_first=True)
    outputs = pad_sequence([target[1:] for _, target in batch], batch_first=True, padding_value=IGNORED)
    return (source, mask, inputs, outputs), int(lengths.sum()), sum(len(target) - 1 for _, target in batch)


def learning_rate(options, finished):
    """The rate of the update after `finished` updates: `linear` in train/optim/schedule.h of Gyre."""
    if finished < options.lr_warmup:
        return 1e-7 + finished * (options.learn_rate - 1e-7) / options.lr_warmup
    return options.learn_rate * (options.updates - finished) / (options.updates - options.lr_warmup)


class Trainer:
    def __init__(self, model, options):
        self.model, self.options, self.loss = model, options, model.loss
        matrices, tables, vectors = [], [], []
        for name, parameter in model.named_parameters():
            muon = options.optimizer == "muon" and name[-1].isdigit()
            (matrices if muon else vectors if parameter.dim() == 1 else tables).append(parameter)
        groups = [{"params": tables, "weight_decay": options.weight_decay}, {"params": vectors, "weight_decay": 0}]
        self.optimizers = [torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-9, fused=True)]
        if matrices:
            self.optimizers.append(torch.optim.Muon(matrices, weight_decay=options.weight_decay, momentum=0.95,
                                                    adjust_lr_fn="match_rms_adamw"))

    def backward(self, tensors):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.options.precision == "bf16"):
            loss = self.loss(*tensors, self.options.label_smoothing)
        loss.backward()
        return loss.item()

    def compile(self, batches):
        """Compiles the loss and its gradient for any shapes. Returns the seconds, or None if that failed."""
        start = time.perf_counter()
        self.loss = torch.compile(self.model.loss, dynamic=True)
        batches = [padded(batch)[0] for batch in batches]
        # The compiler takes equal numbers of sentences, source tokens and target tokens for one size, and may compile
        # small and large batches apart.
        apart = [tensors for tensors in batches if len({*tensors[0].shape, *tensors[2].shape}) == 3] or batches
        try:
            for choose in (min, max):
                self.backward(choose(apart, key=lambda tensors: tensors[0].numel()))
        except Exception as error:  # whatever the compiler raises
            print(f"torch.compile failed, training goes on without it: {error}", file=sys.stderr, flush=True)
            self.loss = self.model.loss
            return None
        finally:
            self.model.zero_grad()
        return time.perf_counter() - start

    def update(self, finished, tensors):
        for optimizer in self.optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(self.options, finished)
        loss = self.backward(tensors)
        for optimizer in self.optimizers:
            optimizer.step()
        return loss


def train(trainer, pairs, options):
    """Returns the seconds, the number of source and target tokens, and the mean loss since the last progress line."""
    order, batches = random.Random(options.seed), []
    began = then = time.perf_counter()
    total, tokens, targets, loss = 0, 0, 0, 0.0  # all but `total` since the last progress line
    for update in range(1, options.updates + 1):
        batches = batches or plan_epoch(pairs, options.mini_batch_words, order)
        tensors, source_count, target_count = padded(batches.pop())
        loss += target_count * trainer.update(update - 1, tensors)
        tokens, targets = tokens + source_count + target_count, targets + target_count
        if update % 100 == 0 or update == options.updates:
            now, mean = time.perf_counter(), loss / targets
            rate = tokens / (now - then)
            print(f"update {update}: loss {mean:.4f}, {rate:.0f} tokens/s", file=sys.stderr, flush=True)
            then, total, tokens, targets, loss = now, total + tokens, 0, 0, 0.0
    return then - began, total, mean


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("template", "vocab", "output"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--train", nargs=2, type=pathlib.Path, metavar=("SOURCE", "TARGET"), required=True)
    parser.add_argument("--updates", type=int, required=True)
    parser.add_argument("--mini-batch-words", type=int, default=4096, help="target tokens per batch, with </s>")
    parser.add_argument("--learn-rate", type=float, default=5e-4)
    parser.add_argument("--lr-warmup", type=int, default=4000, help="updates")
    parser.add_argument("--dropout", type=float, help="default: that of the run")
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--optimizer", choices=["adam", "muon"], default="adam")
    parser.add_argument("--weight-decay", type=float, default=0, help="decoupled; not of norms and biases")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--compile", action="store_true", help="torch.compile the forward and backward pass")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.optimizer == "muon" and not hasattr(torch.optim, "Muon"):
        parser.error(f"--optimizer muon: expected torch 2.9 or later, got {torch.__version__}")
    return options


def main():
    options = parse_options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    config_text, config = read_config(options.template)
    model = Translation(config, config["dropout"] if options.dropout is None else options.dropout)
    model.load(options.template)
    vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(options.vocab))
    if vocabulary.get_piece_size() != config["vocab_size"]:
        raise SystemExit(f"{options.vocab}: expected {config['vocab_size']} pieces, got {vocabulary.get_piece_size()}")
    pairs = read_pairs(options.train, vocabulary)
    trainer = Trainer(model.train(), options)
    compile_seconds = None
    if options.compile:
        compile_seconds = trainer.compile(plan_epoch(pairs, options.mini_batch_words, random.Random(0))[:50])
    seconds, tokens, loss = train(trainer, pairs, options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    model.save(options.output, options.template)
    (options.output.parent / "config.json").write_text(config_text)
    (options.output.parent / "vocab.model").write_bytes(options.vocab.read_bytes())
    print(json.dumps({"torch": torch.__version__, "optimizer": options.optimizer, "precision": options.precision,
                      "threads": options.threads, "compiled": compile_seconds is not None,
                      "compile_seconds": round(compile_seconds or 0, 1), "updates": options.updates,
                      "seconds": round(seconds, 2), "tokens_per_second": round(tokens / seconds, 1),
                      "loss": round(loss, 4)}, separators=(",", ":")))


if __name__ == "__main__":
    main()
