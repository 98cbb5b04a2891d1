#!/usr/bin/env python3
"""Writes packed_int8.json: a product in int8 by numpy, with rows of activations and of the weight rounded to integers
of -127 to 127 times a scale each. Needs: pip install numpy."""
import json
import pathlib

import numpy

ROWS, COLUMNS, SUMMED = 5, 35, 39


def rounded(matrix):
    scales = numpy.abs(matrix).max(1, keepdims=True) / numpy.float32(127)
    inverse = numpy.float32(127) / numpy.abs(matrix).max(1, keepdims=True)
    return numpy.rint(matrix * inverse).astype(numpy.int32), scales


random = numpy.random.default_rng(3)
x = random.standard_normal((ROWS, SUMMED)).round(3).astype(numpy.float32)
w = (random.standard_normal((COLUMNS, SUMMED)) * random.uniform(0.1, 2, (COLUMNS, 1))).round(3).astype(numpy.float32)
(q, s), (r, t) = rounded(x), rounded(w)
y = (q @ r.T).astype(numpy.float64) * s * t.T
pathlib.Path(__file__).with_name("packed_int8.json").write_text(json.dumps(
    {name: [float(f"{number:.9g}") for number in value.flatten()] for name, value in {"x": x, "w": w, "y": y}.items()}) + "\n")
