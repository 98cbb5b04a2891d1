#!/usr/bin/env python3
"""Writes labels.json: scores of scikit-learn (1.9.1) and SciPy (1.17.1) for predictions and labels. NaN is null, and
infinities are the strings inf and -inf. Run: python3 make_labels.py > labels.json"""

import json
import math
import random
import sys
import warnings

from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

warnings.simplefilter("ignore")
random.seed(1)


def classes(predicted, actual):
    return dict(predicted=predicted, actual=actual, scores={
        "accuracy": accuracy_score(actual, predicted),
        "f1": f1_score(actual, predicted, labels=[1], average="macro", zero_division=0),
        "macro-f1": f1_score(actual, predicted, average="macro", zero_division=0),
        "matthews": matthews_corrcoef(actual, predicted)})


def plain(x):
    return None if math.isnan(x) else x if math.isfinite(x) else str(x)


def values(predicted, actual):
    return dict(predicted=[plain(x) for x in predicted], actual=[plain(x) for x in actual], scores={
        "pearson": plain(float(pearsonr(predicted, actual).statistic)),
        "spearman": plain(float(spearmanr(predicted, actual).statistic))})


def noisy(actual, count, share):
    return [random.randrange(count) if random.random() < share else a for a in actual]


CLASSES = [
    ([1, 0, 1, 1], [1, 0, 1, 1]),  # all right
    ([0, 1, 0, 0], [1, 0, 1, 1]),  # all wrong
    ([1, 0, 1, 1, 0, 0], [1, 1, 0, 1, 0, 1]),
    ([0, 0, 0, 0], [0, 1, 0, 1]),  # class 1 never predicted
    ([1, 0, 1, 0], [0, 0, 0, 0]),  # class 1 never true
    ([0, 0, 0], [0, 0, 0]),  # class 1 nowhere
    ([1, 1, 1], [1, 1, 1]),  # class 0 nowhere
    ([1, 1, 1], [0, 0, 0]),
    ([1], [1]), ([0], [0]), ([0], [1]),
    ([0, 1, 2, 2, 1], [0, 1, 1, 2, 0]),
    ([0, 0, 2, 2], [0, 2, 2, 0]),  # of three classes one is nowhere
    ([3, 3, 0], [0, 1, 1]),  # one is never true, another never predicted
]
for count, size in ((2, 50), (2, 1000), (3, 50), (3, 1000), (7, 300)):
    for share in (0.1, 0.5, 1):
        actual = [random.randrange(count) for _ in range(size)]
        CLASSES.append((noisy(actual, count, share), actual))

VALUES = [
    ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]),
    ([1.0, 2.0, 3.0, 4.0], [9.0, 3.0, 1.0, 0.5]),
    ([1.0, 2.0], [5.0, 3.0]),
    ([1.0, 1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 2.0, 2.0, 0.0]),  # ties
    ([0.1, 0.1, 0.1], [1.0, 2.0, 3.0]),  # a constant whose mean is rounded
    ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    ([2.0, 2.0], [2.0, 2.0]),
    ([1.0, math.nan, 3.0], [1.0, 2.0, 3.0]),
    ([1.0, 2.0, 3.0, 5.0], [1.0, math.nan, 3.0, 4.0]),
    ([1.0, math.inf, 3.0, -math.inf], [1.0, 2.0, 3.0, 4.0]),
    ([1e200, 2e200, 5e200], [1.0, 2.0, 3.0]),  # squares overflow
    ([1e-200, 2e-200, 5e-200], [1.0, 3.0, 2.0]),  # squares underflow
    ([1e8 + i * i for i in range(9)], [float(i) for i in range(9)]),  # far from 0
    ([0.0, -0.0, 1.0], [2.0, 1.0, 3.0]),
]
for size in (3, 20, 400):
    for noise in (0.1, 1, 10):
        actual = [round(random.uniform(0, 5) * 5) / 5 for _ in range(size)]  # scores of sentence pairs are multiples of 0.2
        VALUES.append(([a + random.gauss(0, noise) for a in actual], actual))
        VALUES.append(([float(round(a + random.gauss(0, noise))) for a in actual], actual))

json.dump(dict(classes=[classes(*pair) for pair in CLASSES], values=[values(*pair) for pair in VALUES]), sys.stdout)
print()
