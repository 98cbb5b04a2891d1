#!/usr/bin/env python3
"""Writes a small corpus full of odd lines and what gyre data clean must make of it, by a plain second implementation.

Usage: make_cleaning.py DIRECTORY [SOURCE TARGET TEST ...]
Without a corpus it generates one. With a corpus it writes only the expected outputs, to compare on real text.
"""
import random
import re
import sys

SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
MIN, MAX, RATIO, CHARACTERS, BYTES, HOLDOUT = 2, 12, 1.5, 20, 110, 20


def squeeze(text):
    return SPACE.sub(" ", text).strip(" ")


def read(path):
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        lines[0] = lines[0][3:]
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def judge(source, target, tests, seen, number):
    """The reason for dropping a pair and its detail, or None; and the pair as it is written."""
    sides = []
    for name, line in (("source", source), ("target", target)):
        try:
            sides.append((name, squeeze(line.decode().replace("|", ""))))
        except UnicodeDecodeError as error:
            return ("invalid-utf8", "%s byte %d (0x%02X)" % (name, error.start + 1, line[error.start])), None
    counts = [len(text.split(" ")) if text else 0 for _, text in sides]

    def first(reason, unit, values, bad):
        for (name, _), value in zip(sides, values):
            if bad(value):
                return (reason, "%s %d %s%s" % (name, value, unit, "" if value == 1 else "s"))
        return None

    found = (
        first("empty", "word", counts, lambda n: n == 0)
        or first("max-bytes", "byte", [len(t.encode()) for _, t in sides], lambda n: n > BYTES)
        or first("min-length", "word", counts, lambda n: n < MIN)
        or first("max-length", "word", counts, lambda n: n > MAX)
    )
    if found:
        return found, None
    if counts[0] / counts[1] > RATIO or counts[1] / counts[0] > RATIO:
        return ("max-ratio", "%d : %d words" % tuple(counts)), None
    found = first("max-characters", "character", [max(map(len, t.split(" "))) for _, t in sides], lambda n: n > CHARACTERS)
    if found:
        return found, None
    if sides[0][1] == sides[1][1]:
        return ("same-text", ""), None
    for path, lines in tests:
        for name, text in sides:
            if text.casefold() in lines:
                return ("excluded", "%s = %s:%d" % (name, path, lines[text.casefold()])), None
    pair = (sides[0][1], sides[1][1])
    if pair in seen:
        return ("duplicate", "of pair %d" % seen[pair]), None
    seen[pair] = number
    return None, pair


def expect(sources, targets, tests):
    tests = [(path, {}) for path in tests]
    for path, lines in tests:
        for number, line in enumerate(read(path), 1):
            folded = squeeze(line.decode().replace("|", "")).casefold()
            if folded:
                lines.setdefault(folded, number)
    kept, held_out, report, seen = [], [], [], {}
    number = 0
    for source_path, target_path in zip(sources, targets):
        source, target = read(source_path), read(target_path)
        for line in range(1, max(len(source), len(target)) + 1):
            if line > min(len(source), len(target)):
                report.append(("-", line, "unpaired", ""))
                continue
            number += 1
            pair = source[line - 1], target[line - 1]
            if number % HOLDOUT == 0:
                held_out.append([written(text) for text in pair])
                continue
            reason, texts = judge(*pair, tests, seen, number)
            if reason is None:
                kept.append([text.encode() for text in texts])
            else:
                report.append((number, line, *reason))
    return kept, held_out, report


def written(line):
    """The written form of a line that need not be UTF-8: bytes that are not are no white space."""
    text = line.replace(b"|", b"").decode(errors="surrogateescape")
    return squeeze(text).encode(errors="surrogateescape")


def write(directory, name, pairs):
    for side, suffix in enumerate((".en", ".de")):
        with open(f"{directory}/{name}{suffix}", "wb") as file:
            file.write(b"".join(pair[side] + b"\n" for pair in pairs))


WORDS = ["the", "House", "Straße", "STRASSE", "ﬁne", "İzmir", "a|b", "|", "naïve", "\u0130", "ǅ", "ß", "ẞ", "Ω", "Σς", "x" * 20,
         "ä" * 20, "漢字", "😀", "\x00", "\u200b", "\x1c", "\ufeff", "e\u0301"]
SPACES = [" ", "  ", "\t", "\u00a0", "\u2003", "\u3000", " \r ", "\x0b", "\x85", "\u2028"]


def odd_line(rng):
    kind = rng.random()
    if kind < 0.05:
        return rng.choice([b"", b" ", b"\t", "\u00a0\u3000".encode(), b"|", b"\r"])
    words = [rng.choice(WORDS) for _ in range(rng.choice([1, 2, 3, 4, 5, 5, 6, 6, 8, 12, 13]))]
    line = "".join(word + (rng.choice(SPACES) if rng.random() < 0.2 else " ") for word in words).encode()
    if kind < 0.1:
        line += rng.choice([b"y" * 21, "ö".encode() * 21, b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x80"])
    if kind > 0.9:
        line = line.strip() + rng.choice([b"", b"\r", b" \r"])
    return line.replace(b"\n", b"")


def generate(directory):
    rng = random.Random(7)
    tests = [[odd_line(rng).decode(errors="ignore").encode() for _ in range(12)] for _ in range(2)]
    for name, lines in zip(("test1", "test2"), tests):
        with open(f"{directory}/{name}.txt", "wb") as file:
            file.write(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    pairs = []
    for _ in range(420):
        source, target = odd_line(rng), odd_line(rng)
        if rng.random() < 0.5:  # about as long as the source
            words = source.split()
            rng.shuffle(words)
            target = b" ".join(words)
        kind = rng.random()
        if kind < 0.1 and pairs:
            source, target = rng.choice(pairs)
            source = source.replace(b" ", b"  ")
        elif kind < 0.15:
            target = source.replace(b" ", b"\t")
        elif kind < 0.25:
            source = rng.choice(rng.choice(tests)).decode().swapcase().encode()
        pairs.append((source, target))
    halves = pairs[:250], pairs[250:]
    for name, half, surplus in zip(("in1", "in2"), halves, ((b"alone\n", b""), (b"", b"allein\nzwei"))):
        for side, suffix in enumerate((".en", ".de")):
            with open(f"{directory}/{name}{suffix}", "wb") as file:
                mark = b"\xef\xbb\xbf" if side == 0 else b""
                file.write(mark + b"".join(pair[side] + b"\n" for pair in half) + surplus[side])


def main():
    directory, *files = sys.argv[1:]
    if files:
        sources, targets, tests = files[:1], files[1:2], files[2:]
    else:
        generate(directory)
        sources = [f"{directory}/{name}.en" for name in ("in1", "in2")]
        targets = [f"{directory}/{name}.de" for name in ("in1", "in2")]
        tests = [f"{directory}/{name}.txt" for name in ("test1", "test2")]
    kept, held_out, report = expect(sources, targets, tests)
    write(directory, "kept", kept)
    write(directory, "held_out", held_out)
    with open(f"{directory}/report.tsv", "w") as file:
        for row in report:
            file.write("\t".join(map(str, row)).replace(f"{directory}/", "") + "\n")


if __name__ == "__main__":
    main()
