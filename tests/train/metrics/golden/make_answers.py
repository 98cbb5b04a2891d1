#!/usr/bin/env python3
"""Writes answers.json: 1,000 predictions and answers with their scores by LongBench's own metrics.py, which is its
argument (github.com/THUDM/LongBench, LongBench/metrics.py), with rouge 1.0.1 and fuzzywuzzy 0.18.0. jieba is replaced
by characters, and fuzzywuzzy takes Python's difflib, as without python-Levenshtein, which LongBench does not require.
Run: python3 make_answers.py metrics.py > answers.json"""

import importlib.util
import json
import random
import sys
import types
import warnings

warnings.simplefilter("ignore")
sys.modules["jieba"] = types.SimpleNamespace(cut=lambda text, cut_all: list(text))
sys.modules["fuzzywuzzy.StringMatcher"] = None
spec = importlib.util.spec_from_file_location("metrics", sys.argv[1])
longbench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(longbench)
random.seed(1)

WORDS = """the a an The AN of cat Cat cats sat on mat, mat "mat" U.S. it's its don't dont well-known 3.5 1,000 No. 42
café CAFÉ cafe\u0301 naïve Straße ΣΊΣΥΦΟΣ İstanbul _ a_b the_ 中文 ① Ⅷ ½ x² the\u0301 a' an- /the/ (a) yes yes. No, €5 “the”
and\u00a0or tab\tbed two\nlines who? Paris France""".split(" ")
SENTENCES = """the cat sat on the mat|a dog barked at night|it rained|officials said the plan failed|nobody knows why|
 the mat was red |profits rose 3 percent|no|the the the|on the other hand it did not rain""".split("|")
CHINESE = list("中国的首都是北京，上海很大。答案：不知道！１２ab Cd『书』、3.5%") + ["北京", "上海", "。", "."]
NUMBERS = ["1", "2", "3", "12", "3.", " 3", "03", "3,000", "٣", "３", "three", "Paragraph", "段落", "is", "-3", "\n", "x3y"]
CODE = ["return ", "x", " = ", "y", "(", ")", "[i]", ";", "    ", "self.", "foo_bar", ", ", "\"a b\"", " + ", "if ", ":"]
CLASSES = ["Person", "Person group", "group", "Number", "Number of days", "of", "Date", "Other number", "Date"]


def line(pool, most, between=" "):
    return between.join(random.choice(pool) for _ in range(random.randrange(most + 1)))


def near(text, pool, between=" "):
    """A text with a part of the words of another."""
    if random.random() < 0.08:
        return text
    words = [w for w in (text.split(between) if between else list(text)) if random.random() < 0.75]
    for _ in range(random.randrange(3)):
        words.insert(random.randrange(len(words) + 1), random.choice(pool))
    return between.join(words)


def pair(pool, most, between=" "):
    answer = line(pool, most, between)
    prediction = line(pool, most, between) if random.random() < 0.15 else near(answer, pool, between)
    return prediction, answer


def summary():
    answer = random.choice([".", ". ", ".\n"]).join(random.sample(SENTENCES, random.randrange(4)))
    return near(answer, ["the", "cat.", ".", "rain", " . "]), answer


def classes():
    answer = random.choice(CLASSES)
    named = random.sample(CLASSES + ["no class", "person"], random.randrange(3)) + [answer] * (random.random() < 0.6)
    random.shuffle(named)
    return random.choice(["", "Type: "]) + random.choice([" ", ", ", "\n"]).join(named), answer


def code():
    pool = CODE * 3
    prediction, answer = pair(pool, random.choice([4, 12, 100]), "")
    before = random.choice(["", "", "\n\n", "```python\n", "# a comment\n", "// another\n\n"])
    return before + prediction + random.choice(["", "\nnext line", "  # why", "\r\n"]), answer


def retrieval(word, after):
    return line(NUMBERS, 5), random.choice([word + random.choice(["3", "12", "３"]) + after, f"The {word}{word}3 or {word}4"])


def exact(prediction, answer):
    return float(longbench.normalize_answer(prediction) == longbench.normalize_answer(answer))


CASES = {
    "exact-match": (100, exact, lambda: pair(WORDS, random.choice([1, 2, 4]))),
    "f1": (200, longbench.qa_f1_score, lambda: pair(WORDS, 7)),
    "f1-characters": (80, longbench.qa_f1_zh_score, lambda: pair(CHINESE, 12, "")),
    "rouge-l": (150, longbench.rouge_score, summary),
    "rouge-l-characters": (80, longbench.rouge_zh_score, lambda: pair(CHINESE, 14, "")),
    "classification": (100, longbench.classification_score, classes),
    "retrieval": (60, longbench.retrieval_score, lambda: retrieval("Paragraph ", ".")),
    "retrieval-zh": (40, longbench.retrieval_zh_score, lambda: retrieval("段落", "。")),
    "count": (60, longbench.count_score, lambda: (line(NUMBERS, 5), random.choice(["3", "12", "1"]))),
    "edit-similarity": (130, longbench.code_sim_score, code),
}
result = []
for metric, (count, score, make) in CASES.items():
    for _ in range(count):
        prediction, answer = make()
        result.append(json.dumps([metric, prediction, answer, score(prediction, answer, all_classes=CLASSES)
                                  if metric != "exact-match" else score(prediction, answer)], ensure_ascii=False))
print('{"classes": ' + json.dumps(CLASSES) + ',\n"scores": [\n' + ",\n".join(result) + "]}")
