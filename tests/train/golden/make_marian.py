"""Golden models of tests/train/pretrained/marian_test.cpp: tiny translation models (MarianMTModel) of Hugging Face's
transformers in the layout of OPUS-MT, with their SentencePiece models, logits in f64, and
translations that generate() finds.

Writes marian/<model>/{config.json, model.safetensors, source.spm, target.spm, vocab.json, ..}, what CTranslate2's
converter makes of the first, marian/swish/ctranslate2.bin, and marian/golden.json next to this script. Needs torch,
transformers (4.57 or later), sentencepiece and ctranslate2.
"""
import io
import json
import pathlib
import shutil
import tempfile

import ctranslate2
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

FOLDER = pathlib.Path(__file__).with_name("marian")
ENGLISH = ["the cat sees a dog", "a dog sees the old house", "the house is old and red", "who sees the red cat",
           "an old man reads the book", "the book is here", "here is a red book", "the man and the dog are here"]
GERMAN = ["die Katze sieht einen Hund", "ein Hund sieht das alte Haus", "das Haus ist alt und rot",
          "wer sieht die rote Katze", "ein alter Mann liest das Buch", "das Buch ist hier", "hier ist ein rotes Buch",
          "der Mann und der Hund sind hier"]
SOURCES = ["the cat is here", "a man reads", "an old dog sees the red house and the book", ">>deu<< the dog", "Zebra!"]
TARGETS = ["die Katze ist hier", "ein Mann liest", "ein alter Hund", "der Hund", "Haus"]
SHARED = dict(d_model=24, encoder_attention_heads=3, decoder_attention_heads=3, max_position_embeddings=40,
              static_position_embeddings=True, dropout=0.1, num_beams=1)
MODELS = {
    "swish": dict(encoder_layers=2, decoder_layers=1, encoder_ffn_dim=20, decoder_ffn_dim=20,
                  activation_function="swish", scale_embedding=True),
    "gelu": dict(encoder_layers=1, decoder_layers=2, encoder_ffn_dim=13, decoder_ffn_dim=13,
                 activation_function="gelu", scale_embedding=False),
}
SEARCHES = [dict(num_beams=1), dict(num_beams=3, length_penalty=0.6, early_stopping=True),
            dict(num_beams=4, length_penalty=1.0, early_stopping=False)]


def train_pieces(lines, size):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=size,
                                             model_type="unigram", normalization_rule_name="identity", minloglevel=2, num_threads=1,
                                             hard_vocab_limit=False)
    return model.getvalue()


def pieces_of(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(len(processor))]


def write_tokenizer(folder, source, target):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    special = ["</s>", "<unk>", ">>deu<<"]
    others = sorted((set(pieces_of(source)) | set(pieces_of(target))) - set(special) - {"<s>"})
    names = special + others + ["<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}, ensure_ascii=False,
                                                  indent=0) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "MarianTokenizer", "clean_up_tokenization_spaces": False, "model_max_length": 40}) + "\n")
    return len(names)


def trained(model, tokenizer):
    """Weights of a short training on the pairs, so that translations end, and a bias; the padding has none."""
    torch.manual_seed(5)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "embed_positions" not in key:
                p.add_(torch.randn_like(p) * 0.1)
        model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias) * 0.5)
    sources = tokenizer(ENGLISH, return_tensors="pt", padding=True)
    labels = tokenizer(text_target=GERMAN, return_tensors="pt", padding=True).input_ids
    labels[labels == tokenizer.pad_token_id] = -100
    adam = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(300):
        adam.zero_grad()
        model(**sources, labels=labels).loss.backward()
        adam.step()
    with torch.no_grad():
        model.model.shared.weight[-1] = 0
    return model.eval()


def main():
    source, target = train_pieces(ENGLISH, 45), train_pieces(GERMAN, 45)
    golden = {"sources": SOURCES, "targets": TARGETS, "searches": SEARCHES, "models": {}}
    for name, shape in MODELS.items():
        folder = FOLDER / name
        size = write_tokenizer(folder, source, target)
        config = MarianConfig(vocab_size=size, decoder_vocab_size=size, pad_token_id=size - 1, eos_token_id=0,
                              decoder_start_token_id=size - 1, forced_eos_token_id=0, **SHARED, **shape)
        config.save_pretrained(folder)
        tokenizer = MarianTokenizer.from_pretrained(folder)
        model = trained(MarianMTModel(config), tokenizer)
        model.generation_config.bad_words_ids = [[size - 1]]
        model.save_pretrained(folder)
        model = model.double()
        results = {"source_ids": [], "target_ids": [], "logits": [], "translations": []}
        with torch.no_grad():
            for text, translation in zip(SOURCES, TARGETS):
                ids = tokenizer(text, return_tensors="pt").input_ids
                labels = tokenizer(text_target=translation, return_tensors="pt").input_ids
                inputs = torch.cat([torch.tensor([[size - 1]]), labels[:, :-1]], dim=1)
                logits = model(input_ids=ids, decoder_input_ids=inputs).logits[0]
                results["source_ids"].append(ids[0].tolist())
                results["target_ids"].append(labels[0].tolist())
                results["logits"].append([[float(f"{x:.8g}") for x in row] for row in logits.tolist()])
                found = []
                for search in SEARCHES:
                    output = model.generate(ids, do_sample=False, max_length=38, bad_words_ids=[[size - 1]],
                                            num_return_sequences=1, **search)[0].tolist()
                    end = output.index(0)
                    assert end < 30, "the search must not stop at the limit of the length"
                    found.append({"ids": output[1:end], "text": tokenizer.decode(output, skip_special_tokens=True)})
                results["translations"].append(found)
        golden["models"][name] = results
    with tempfile.TemporaryDirectory() as work:
        converter = ctranslate2.converters.TransformersConverter(str(FOLDER / "swish"))
        shutil.copy(pathlib.Path(converter.convert(work + "/converted")) / "model.bin",
                    FOLDER / "swish" / "ctranslate2.bin")
    (FOLDER / "golden.json").write_text(json.dumps(golden, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
