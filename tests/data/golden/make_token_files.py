#!/usr/bin/env python3
"""Writes token_files/: the same documents as token files of nanoGPT, llm.c and Megatron-LM, in their documented layouts
(numpy 2.x). The package megatron-core (0.16), if it is installed, must write the same bytes of Megatron's files.
The ids are those of gyre vocab --type bytes: <unk>, <s>, </s>, then the bytes."""
import struct
from pathlib import Path

import numpy

DOCUMENTS = ["one\ntwo words\n", "Größe 大\n", "no line end"]
BOS, EOS, FIRST_BYTE = 1, 2, 3
FOLDER = Path(__file__).parent / "token_files"


def ids(text):
    return [FIRST_BYTE + byte for byte in text.encode()]


def header(magic, version, count):
    values = numpy.zeros(256, dtype=numpy.int32)
    values[:3] = magic, version, count
    return values.tobytes()


def write_megatron(name, code, dtype, sequences, documents):
    numpy.concatenate([numpy.array(s, dtype=dtype) for s in sequences]).tofile(FOLDER / f"{name}.bin")
    lengths = numpy.array([len(s) for s in sequences], dtype=numpy.int32)
    pointers = (numpy.cumsum(lengths) - lengths).astype(numpy.int64) * numpy.dtype(dtype).itemsize
    (FOLDER / f"{name}.idx").write_bytes(
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents)) + lengths.tobytes() +
        pointers.tobytes() + numpy.array(documents, dtype=numpy.int64).tobytes())


def check_with_megatron(name, dtype, sequences, documents):
    try:
        from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder
    except ImportError:
        return print("megatron-core is not installed: its own files were not compared")
    builder = IndexedDatasetBuilder(str(FOLDER / "other.bin"), dtype=dtype)
    for first, last in zip(documents, documents[1:]):
        texts = sequences[first:last]
        builder.add_document([i for s in texts for i in s], [len(s) for s in texts])
    builder.finalize(str(FOLDER / "other.idx"))
    for extension in ("bin", "idx"):
        other = FOLDER / f"other.{extension}"
        assert other.read_bytes() == (FOLDER / f"{name}.{extension}").read_bytes(), (name, extension)
        other.unlink()


def main():
    FOLDER.mkdir(exist_ok=True)
    after = [i for text in DOCUMENTS for i in [*ids(text), EOS]]
    before = [i for text in DOCUMENTS for i in [BOS, *ids(text)]]
    numpy.array(after, dtype=numpy.uint16).tofile(FOLDER / "nanogpt.bin")
    (FOLDER / "llm_c.bin").write_bytes(header(20240520, 1, len(before)) +
                                       numpy.array(before, dtype=numpy.uint16).tobytes())
    (FOLDER / "llm_c_wide.bin").write_bytes(header(20240801, 7, len(before)) +
                                            numpy.array(before, dtype=numpy.uint32).tobytes())
    # A sequence per document with --append-eod, as Megatron's preprocess_data.py writes text for GPT.
    whole = [[*ids(text), EOS] for text in DOCUMENTS]
    write_megatron("megatron", 8, numpy.uint16, whole, [0, 1, 2, 3])
    check_with_megatron("megatron", numpy.uint16, whole, [0, 1, 2, 3])
    # A sequence per sentence, without --append-eod, in four bytes.
    lines = [ids(line) for text in DOCUMENTS for line in text.splitlines(keepends=True)]
    write_megatron("sentences", 4, numpy.int32, lines, [0, 2, 3, 4])
    check_with_megatron("sentences", numpy.int32, lines, [0, 2, 3, 4])


main()
