#!/usr/bin/env python3
"""Writes reference.safetensors with Hugging Face's Python package. Needs: pip install safetensors numpy."""
import pathlib

import numpy
from safetensors.numpy import save_file

tensors = {
    "weight": numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 4 - 0.5,
    "exact": numpy.array([1e300, -0.1], dtype=numpy.float64),
    "ids": numpy.array([[-7], [2**31 - 1]], dtype=numpy.int32),
    "positions": numpy.arange(3, dtype=numpy.int64),
    "bytes": numpy.array([1, 2, 255], dtype=numpy.uint8),
    "scalar": numpy.array(3.25, dtype=numpy.float32),
    "empty": numpy.zeros((0, 4), dtype=numpy.float32),
    "name with ü and \"quotes\"": numpy.array([9], dtype=numpy.float32),
}
save_file(tensors, pathlib.Path(__file__).with_name("reference.safetensors"), {"format": "np", "note": "größer"})
