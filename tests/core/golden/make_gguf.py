#!/usr/bin/env python3
"""Writes reference.gguf and gguf.json, the numbers in it, with llama.cpp's package: a file with a key of each type and a
matrix in each type of elements. Needs: pip install gguf (0.17 or later)."""
import json
import pathlib

import gguf
import numpy

FOLDER = pathlib.Path(__file__).parent
ROWS, COLUMNS = 3, 64

random = numpy.random.default_rng(5)
matrix = (random.standard_normal((ROWS, COLUMNS)) * 10.0 ** random.integers(-9, 4, (ROWS, COLUMNS))).astype(numpy.float32)
matrix[0, :6] = [0.5, -0.5, 1.5, -0.0, 65504, 2.0 ** -25]  # halves, the largest number of f16, half of its smallest
matrix[0, 6:10] = [2.0 ** -24 * 1.5, 2.0 ** -14 * 0.999999, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11]  # subnormal numbers, ties
matrix[1, :32] = 0  # a block of zeros
matrix[1, 32:] = numpy.arange(32) * 0.5 - 8  # ties of q8_0 at the scale 1/127 of its largest number
matrix[2, 32:] = numpy.linspace(-127, 127, 32)  # the scale is 1
matrix[2, 32:36] = [0.5, 1.5, -2.5, 127]

writer = gguf.GGUFWriter(FOLDER / "reference.gguf", "tiny")
writer.add_uint32("a.count", 4000000000)
writer.add_float32("a.number", 1e-5)
writer.add_bool("a.flag", True)
writer.add_string("a.text", "Grüße\n")
writer.add_array("a.bytes", bytes([0, 1, 255]))
writer.add_array("a.integers", [-1, 2, 3])
writer.add_array("a.numbers", [0.25, -1e4])
writer.add_array("a.texts", ["", "▁the"])
types = {"f32": gguf.GGMLQuantizationType.F32, "f16": gguf.GGMLQuantizationType.F16,
         "bf16": gguf.GGMLQuantizationType.BF16, "q8_0": gguf.GGMLQuantizationType.Q8_0}
writer.add_tensor("vector", matrix[0, :3])
for name, kind in types.items():
    writer.add_tensor(name, gguf.quants.quantize(matrix, kind), raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
(FOLDER / "gguf.json").write_text(json.dumps([float(f"{x:.9g}") for x in matrix.flatten()]) + "\n")
