"""Shared by the scripts that hash many lines: the hash, and random numbers that the tests draw too."""


class Random:
    """Knuth's MMIX generator."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def hash_lines(lines):
    """The hash of the lines with their ends."""
    return f"{fnv1a(''.join(line + chr(10) for line in lines)):016x}"
