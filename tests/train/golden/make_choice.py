"""Golden answers of tests/tools/choice_test.sh: questions in the forms of published benchmarks, and the log-probabilities,
acc and acc_norm that lm-evaluation-harness computes for them with a tiny model.

Writes choice/{config.json, model.safetensors, tokenizer.json, ..}, choice/<format>.jsonl and choice/golden.json next to
this script. With two arguments, MODEL QUESTIONS, writes golden.json of another model of transformers and of the files
QUESTIONS/<format>.jsonl to standard output. Needs torch, transformers and lm_eval (0.4.13). Reads no network: the tasks
are those of the package, on local files.
"""
import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"

import lm_eval
import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

FOLDER = pathlib.Path(__file__).with_name("choice")
TASKS = pathlib.Path(lm_eval.__file__).parent / "tasks"
DESCRIPTION = "Answer these:\n\n"
SHOTS = [0, 2]

# The task files of the package; "" has none: texts as they are.
YAML = {
    "hellaswag": "hellaswag/hellaswag.yaml",
    "endings": "",
    "winogrande": "winogrande/default.yaml",
    "piqa": "piqa/piqa.yaml",
    "openbookqa": "openbookqa/openbookqa.yaml",
    "sciq": "sciq/sciq.yaml",
    "boolq": "super_glue/boolq/default.yaml",
    "arc": "arc/arc_easy.yaml",
    "mmlu": "mmlu/default/_default_template_yaml",
    "mmlu-continuation": "mmlu/continuation/_continuation_template_yaml",
    "lambada": "lambada/lambada_openai.yaml",
}

QUESTIONS = {
    "hellaswag": [
        dict(activity_label="Cooking", ctx_a="A woman stands  in a kitchen.", ctx_b="she", label=1,
             endings=["throws the pan out of the window.", "stirs the soup [substeps] and tastes it.", "is a pan.",
                      "sings [title] The end"]),
        dict(activity_label="Home", ctx_a="[header] How to paint a wall [title] Wash it. [step] Use", ctx_b="",
             label="3", endings=["soap.", "a [very] small brush [open", "paint  first", "water and then wait a day."]),
        dict(activity_label="Café", ctx_a="Le garçon arrive.", ctx_b="ÉMILE CRIE", label=0,
             endings=["« Bonjour » !", "« Adieu »", "日本語", "🙂"]),
        dict(activity_label="Odd", ctx_a=" Two\nlines [a\nb] here", ctx_b="ßTRAßE ΣΑΣ", label=2,
             endings=["a b", "c  d   e", "[x][y] z", " f "]),
    ],
    "endings": [
        dict(ctx="The sun rises in the", endings=["east", "west", "north"], label=0),
        dict(ctx="Trailing space ", endings=["goes on", "is moved"], label=1),
        dict(ctx="Words\u00a0\n", endings=["after white space", "x"], label="0"),
        dict(ctx="Long: " + "la " * 150, endings=["la la", "lo"], label=0),
    ],
    "winogrande": [
        dict(sentence="The cup did not fit into the box because the _ was too big.", option1="cup", option2="box",
             answer="1"),
        dict(sentence="Anna gave Lena a book, and _ read it.", option1="Anna", option2="Lena", answer="2"),
        dict(sentence="_ is the capital of France , not of Spain .", option1="Paris", option2="Madrid", answer="1"),
    ],
    "piqa": [
        dict(goal="To open a jar", sol1="turn the lid to the left.", sol2="turn the lid to the right.", label=0),
        dict(goal="dry a plate?", sol1="Use a wet towel", sol2="Use a towel that is dry, or wait", label=1),
        dict(goal="How do you boil an egg", sol1="in oil", sol2="in water, for six minutes", label=1),
    ],
    "openbookqa": [
        dict(question_stem="Plants need", choices=dict(text=["light", "sand", "oil", "iron bars"], label=list("ABCD")),
             answerKey="A"),
        dict(question_stem="A magnet attracts", choices=dict(text=["wood", "iron"], label=["A", "B"]), answerKey=" B"),
        dict(question_stem="Ice is", choices=dict(text=["hot", "frozen water", "a gas"], label=list("ABC")),
             answerKey="B"),
    ],
    "sciq": [
        dict(question="What do bees make?", distractor1="milk", distractor2="bread", distractor3="wax paper",
             correct_answer="honey", support=" Bees live in hives. They make honey."),
        dict(question="Which gas do we breathe?", distractor1="helium", distractor2="neon", distractor3="argon",
             correct_answer="oxygen", support=""),
        dict(question="What is H2O?", distractor1="salt", distractor2="sugar", distractor3="air",
             correct_answer="water", support="\tH2O is a formula.\n"),
    ],
    "boolq": [
        dict(question="is water wet", passage="Water -- Water is a liquid.", label=1),
        dict(question="can fish fly", passage="Fish swim.  Some jump.", label=0),
        dict(question="is snow white", passage="Snow is “white”.", label=1),
    ],
    "arc": [
        dict(id="1", question="Which is a planet?", choices=dict(text=["Sun", "Mars", "Moon"], label=["A", "B", "C"]),
             answerKey="B"),
        dict(id="2", question="2 + 2 =", choices=dict(text=["3", "4", "5", "22"], label=["1", "2", "3", "4"]),
             answerKey="2"),
        dict(id="3", question="Where does rain come from?", choices=dict(text=["clouds", "rocks"], label=["A", "B"]),
             answerKey="A"),
    ],
    "mmlu": [
        dict(question=" What is 7 x 6? ", subject="arithmetic", choices=["42", "36", "48", "13"], answer=0),
        dict(question="Which word is a verb?", subject="grammar", choices=["tree", "run", "blue", "of"], answer=1),
        dict(question="The largest of these is", subject="sizes", choices=["ant", "cat", "elephant", "mouse"],
             answer=2),
        dict(question="Which is round?", subject="shapes", choices=["a box", "a book", "a key", "a ball"], answer=3),
    ],
    "lambada": [
        dict(text="The dog barked at the cat, and the cat ran away from the dog"),
        dict(text="He said \"yes\" and she said \"no\""),
        dict(text="Es war einmal ein König, der hatte eine Tochter namens Ösa"),
    ],
}
QUESTIONS["mmlu-continuation"] = QUESTIONS["mmlu"]


def write_model():
    """A Llama with random weights, far from uniform, whose tokenizer begins texts with <s>."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "</s>"],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator((json.dumps(q, ensure_ascii=False) for qs in QUESTIONS.values() for q in qs), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(FOLDER)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=320, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=32, max_position_embeddings=160, tie_word_embeddings=True, bos_token_id=0, eos_token_id=1))
    torch.manual_seed(3)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(((torch.randn_like(p) * 0.3 + ("norm" in name)) * 1024).round() / 1024)
    model.save_pretrained(FOLDER)


def task_file(name, questions, folder):
    """A task of the package on a local file, whose examples are the first other questions."""
    lines = [f"include: {TASKS / YAML[name]}"] if YAML[name] else [
        "output_type: multiple_choice", "doc_to_text: '{{ctx}}'", "doc_to_choice: endings", "doc_to_target: '{{label}}'",
        "metric_list:", "  - metric: acc", "  - metric: acc_norm"]
    lines += [f"task: golden_{name}", "dataset_path: json", "dataset_name: null", "dataset_kwargs:", "  data_files:",
              f"    test: {questions / name}.jsonl", "training_split: null", "validation_split: null",
              "test_split: test", "fewshot_split: test", "fewshot_config:", "  sampler: first_n", "tag: null",
              f"description: {json.dumps(DESCRIPTION)}"]
    (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n")


def evaluate(model, tokenizer, questions, names):
    lm = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, device="cpu")
    golden = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            task_file(name, questions, pathlib.Path(folder))
        manager = TaskManager(include_path=folder, include_defaults=False)
        for shots in SHOTS:
            result = lm_eval.simple_evaluate(lm, tasks=[f"golden_{name}" for name in names], num_fewshot=shots,
                                             task_manager=manager, log_samples=True, bootstrap_iters=0)
            for name in names:
                scores = {key.removesuffix(",none"): value for key, value in
                          result["results"][f"golden_{name}"].items() if key.endswith(",none")}
                samples = sorted(result["samples"][f"golden_{name}"], key=lambda sample: sample["doc_id"])
                golden.append({
                    "format": name, "shots": shots,
                    **{key: value for key, value in scores.items() if key in ("acc", "acc_norm", "perplexity")},
                    "log_probabilities": [[float(r[0][0]) for r in s["resps"]] for s in samples],
                    "greedy": [[bool(r[0][1]) for r in s["resps"]] for s in samples]})
    return golden


def main():
    if len(sys.argv) == 3:
        questions = pathlib.Path(sys.argv[2])
        names = [name for name in YAML if (questions / f"{name}.jsonl").exists()]
        model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
        golden = evaluate(model, AutoTokenizer.from_pretrained(sys.argv[1]), questions, names)
        json.dump(golden, sys.stdout)
        return
    FOLDER.mkdir(exist_ok=True)
    for name, questions in QUESTIONS.items():
        (FOLDER / f"{name}.jsonl").write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in questions))
    write_model()
    model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)
    golden = evaluate(model, AutoTokenizer.from_pretrained(FOLDER), FOLDER, list(YAML))
    rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in golden)
    (FOLDER / "golden.json").write_text(f"[\n{rows}\n]\n")


main()
