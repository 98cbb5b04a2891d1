#!/usr/bin/env python3
"""Writes safetensors_cases.json: small valid and invalid files, and the result of Hugging Face's Python package for
each: its error, or its tensors. Needs: pip install safetensors numpy. The file was made with safetensors 0.8.0.

"expect" is a part of Gyre's error message; without it, Gyre must read the file. "stricter" is the reason why Gyre
rejects a file that Python reads.
"""
import json
import pathlib
import struct

import numpy
import safetensors
import safetensors.numpy

HERE = pathlib.Path(__file__)
CASES = []


def python_verdict(data):
    try:
        tensors = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        return {"error": str(error)}
    return {"tensors": {name: {"dtype": t["dtype"], "shape": t["shape"], "hex": bytes(t["data"]).hex()}
                        for name, t in tensors}}


def case(rule, header, data=b"", expect=None, stricter=None, length=None):
    """`length`: the header length in the file, if it is not the true length."""
    header = header if isinstance(header, bytes) else header.encode()
    raw(rule, struct.pack("<Q", len(header) if length is None else length) + header + data, expect, stricter)


def raw(rule, data, expect, stricter=None):
    verdict = python_verdict(data)
    assert ("error" in verdict) == (expect is not None and stricter is None), (rule, verdict)
    item = {"rule": rule, "file": data.hex(), "python": verdict}
    if expect is not None:
        item["expect"] = expect
    if stricter is not None:
        item["stricter"] = stricter
    CASES.append(item)


def entry(dtype, shape, begin, end):
    return '{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (dtype, json.dumps(shape), begin, end)


def one(dtype, shape, begin, end):
    return '{"a":%s}' % entry(dtype, shape, begin, end)


def two(a, b):
    return '{"a":%s,"b":%s}' % (entry("U8", [4], *a), entry("U8", [4], *b))


def good_cases():
    case("no tensors", "{}")
    case("padding: spaces", "{}      ")
    case("metadata", '{"__metadata__":{"format":"pt","größe":""}}')
    case("metadata: empty", '{"__metadata__":{}}')
    case("scalar", one("F32", [], 0, 4), b"\0\0\x80?")
    case("empty tensor", one("F32", [3, 0, 2], 0, 0))
    case("empty tensors among others", '{"a":%s,"b":%s,"c":%s,"d":%s}' % (
        entry("F16", [0], 0, 0), entry("F16", [1], 0, 2), entry("F16", [0, 5], 2, 2), entry("U8", [1], 2, 3)), b"abc")
    case("empty tensor of many elements before the zero", one("F32", [2**60, 0], 0, 0))
    case("rank 6", one("U8", [1, 1, 1, 1, 1, 3], 0, 3), b"abc")
    case("order of the names is not the order of the bytes", two((4, 8), (0, 4)), b"01234567")
    case("elements of less than a byte", one("F4", [2], 0, 1), b"x")
    case("elements of six bits", one("F6_E3M2", [4], 0, 3), b"xyz")
    case("names: escapes", r'{"a\"\\\u00fc\n":%s}' % entry("U8", [1], 0, 1), b"x")
    case("name: empty", '{"":%s}' % entry("U8", [1], 0, 1), b"x")
    case("white space within the header", '{ "a" :\n\t{"shape": [ 1 ], "data_offsets":[0 ,1],"dtype":"U8" } }', b"x")
    case("an unknown key of an entry is passed over",
         '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1}}', b"x")
    for dtype, bits in {"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E5M2FNUZ": 8,
                        "F8_E4M3FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
                        "C64": 64, "F64": 64, "I64": 64, "U64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}.items():
        case("dtype " + dtype, one(dtype, [2, 4], 0, bits), bytes(range(bits)))
    rng = numpy.random.default_rng(1)
    tensors = {"f4": rng.normal(size=(2, 3)).astype("f4"), "f2": rng.normal(size=(5,)).astype("f2"),
               "i8": rng.integers(-9, 9, (2, 1, 2)), "bool": numpy.array([True, False])}
    raw("written by Python", safetensors.numpy.save(tensors, {"format": "np"}), None)


def bad_headers():
    raw("HeaderTooSmall: no file", b"", "expected at least 8 bytes, got 0")
    raw("HeaderTooSmall", b"1234567", "expected at least 8 bytes, got 7")
    case("HeaderTooLarge", "{}", length=100_000_001, expect="the header may have 100000000 bytes")
    case("HeaderTooLarge: 64 bits", "{}", length=2**64 - 1, expect="this one claims 18446744073709551615")
    case("InvalidHeaderLength: the largest header", "{}", length=100_000_000, expect="the header claims 100000000 bytes")
    case("InvalidHeaderLength", "{}", length=3, expect="the header claims 3 bytes, the file has 2 more")
    case("InvalidHeader: UTF-8", b'{"a\xff":1}', expect="ill-formed UTF-8")
    case("InvalidHeader: UTF-8 cut short", b'{"\xc3":1}', expect="ill-formed UTF-8")
    case("InvalidHeader: overlong UTF-8", b'{"\xc0\x80":1}', expect="ill-formed UTF-8")
    case("InvalidHeader: a surrogate as UTF-8", b'{"\xed\xa0\x80":1}', expect="ill-formed UTF-8")
    case("InvalidHeaderDeserialization: a lone surrogate", r'{"\ud800":1}', expect="not valid JSON")
    case("InvalidHeaderDeserialization: empty", "", expect="start with '{'")
    case("InvalidHeaderDeserialization: array", "[]", expect="start with '{'")
    case("InvalidHeaderDeserialization: not closed", "{", expect="not valid JSON")
    case("InvalidHeaderDeserialization: comma", '{"a":%s,}' % entry("U8", [0], 0, 0), expect="not valid JSON")
    case("InvalidHeaderDeserialization: after the end", "{}x", expect="not valid JSON")
    case("InvalidHeaderDeserialization: two objects", "{}{}", expect="not valid JSON")
    case("padding: NUL", "{}\0\0", expect="NUL")
    case("padding: what a NUL hides", "{}\0" + one("U8", [4], 0, 4), b"1234", expect="NUL")
    case("nested deeply", '{"a":' + "[" * 1000, expect="nested too deeply")
    case("metadata: number", '{"__metadata__":{"x":1}}', expect='__metadata__ to hold strings, got 1 for "x"')
    case("metadata: array", '{"__metadata__":[]}', expect="__metadata__ to be an object")
    case("metadata: twice", '{"__metadata__":{},"__metadata__":{}}', expect='duplicate key "__metadata__"')
    case("duplicate key of an entry", '{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
         expect='duplicate key "dtype"')


def bad_entries():
    case("entry: number", '{"a":1}', expect='tensor "a": expected an object')
    case("entry: no dtype", '{"a":{"shape":[],"data_offsets":[0,0]}}', expect='tensor "a": expected "dtype"')
    case("entry: no shape", '{"a":{"dtype":"U8","data_offsets":[0,0]}}', expect='tensor "a": expected "shape"')
    case("entry: no offsets", '{"a":{"dtype":"U8","shape":[0]}}', expect='tensor "a": expected "data_offsets"')
    case("dtype: unknown", one("F31", [1], 0, 4), b"1234", expect='tensor "a": unknown dtype "F31"')
    case("dtype: lower case", one("f32", [1], 0, 4), b"1234", expect='tensor "a": unknown dtype "f32"')
    case("dtype: number", '{"a":{"dtype":1,"shape":[0],"data_offsets":[0,0]}}', expect='"dtype" to be a string')
    case("shape: negative", one("U8", [-1], 0, 1), b"1", expect='non-negative integers in "shape", got -1')
    case("shape: fraction", one("U8", [1.0], 0, 1), b"1", expect='non-negative integers in "shape", got 1.0')
    case("shape: string", one("U8", ["1"], 0, 1), b"1", expect='non-negative integers in "shape", got "1"')
    case("shape: over 64 bits", one("U8", [2**64], 0, 1), b"1", expect='non-negative integers in "shape"')
    case("ValidationOverflow: elements", one("F32", [2**32, 2**32], 0, 4), b"1234", expect="too many elements")
    case("ValidationOverflow: elements before a zero", one("F32", [2**32, 2**32, 0], 0, 0), expect="too many elements")
    case("ValidationOverflow: bits", one("F32", [2**61], 0, 4), b"1234", expect="too many elements")
    case("offsets: three", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}', b"1", expect="got 3 numbers")
    case("offsets: one", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}', b"1", expect="got 1 numbers")
    case("offsets: negative", '{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}', b"1", expect="got -1")
    case("InvalidOffset: end before begin", one("F32", [1], 4, 0), b"1234", expect='"data_offsets" begin at 4')
    case("InvalidOffset: a hole at the start", one("U8", [4], 1, 5), b"12345", expect="hole")
    case("InvalidOffset: a hole", two((0, 4), (5, 9)), b"123456789", expect='tensor "b" should begin at offset 4, got 5')
    case("InvalidOffset: an overlap", two((0, 4), (2, 6)), b"123456", expect='tensor "b" should begin at offset 4, got 2')
    case("InvalidOffset: the same bytes twice", two((0, 4), (0, 4)), b"1234", expect="overlap")
    case("TensorInvalidInfo: too few bytes", one("F32", [2], 0, 4), b"1234", expect="F32 (2) needs 8 bytes")
    case("TensorInvalidInfo: too many bytes", one("F32", [1], 0, 8), b"12345678", expect="F32 (1) needs 4 bytes")
    case("TensorInvalidInfo: an empty tensor's bytes", one("F32", [0], 0, 4), b"1234", expect="F32 (0) needs 0 bytes")
    case("MisalignedSlice", one("F4", [3], 0, 1), b"1", expect="F4 (3) does not fill whole bytes")
    case("MetadataIncompleteBuffer: cut", one("F32", [1], 0, 4), b"123", expect="end at offset 4, the file's data at 3")
    case("MetadataIncompleteBuffer: more", one("F32", [1], 0, 4), b"12345", expect="end at offset 4, the file's data at 5")
    case("MetadataIncompleteBuffer: no tensors", "{}", b"1", expect="end at offset 0, the file's data at 1")


def stricter_than_python():
    case("header: starts with a space", " {}", expect="start with '{'", stricter="the format says '{'")
    case("padding: line feed", "{}\n", expect="nothing but spaces", stricter="the format says spaces")
    case("duplicate tensor", '{"a":%s,"a":%s}' % ((entry("U8", [0], 0, 0),) * 2), expect='duplicate key "a"',
         stricter="the format forbids duplicate keys")
    case("duplicate key of the metadata", '{"__metadata__":{"x":"1","x":"2"}}', expect='duplicate key "x"',
         stricter="the format forbids duplicate keys")
    case("metadata: null", '{"__metadata__":null}', expect="__metadata__ to be an object",
         stricter="the format says an object")
    case("entry: array", '{"a":["U8",[0],[0,0]]}', expect='tensor "a": expected an object',
         stricter="the format says an object")
    case("entry: an unknown key, nested", '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"more":[[]]}}',
         expect="nested too deeply", stricter="nothing in the format nests so deeply")
    case("shape: over 63 bits", one("U8", [2**63, 0], 0, 0), expect="too many elements",
         stricter="a Tensor counts in 63 bits")
    case("shape: over 63 bits in all", one("U8", [2**32, 2**31, 0], 0, 0), expect="too many elements",
         stricter="a Tensor counts in 63 bits")


good_cases()
bad_headers()
bad_entries()
stricter_than_python()
lines = ",\n".join(json.dumps(item, ensure_ascii=False) for item in CASES)
HERE.with_name("safetensors_cases.json").write_text("[\n" + lines + "\n]\n")
