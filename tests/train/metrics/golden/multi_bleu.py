"""Tokenized BLEU as the Moses script multi-bleu.perl defines it, on bytes, and with the compounds of German split."""

import math
import re
from collections import Counter

from sacremoses import MosesTokenizer

SPACE = rb"[ \t\n\v\f\r]+"
QUOTES = {ord(c): '"' for c in "„“”‟«»"} | {ord(c): "'" for c in "‚‘’‛‹›"}


def ngrams(words, n):
    return Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))


def score(hypotheses, references, lowercase):
    """Lines of bytes. bytes.lower() changes ASCII letters only, like Perl's lc without an encoding."""
    split = lambda line: [word for word in re.split(SPACE, line.lower() if lowercase else line) if word]
    matches, totals, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, *others in zip(hypotheses, *references):
        words, others = split(hypothesis), [split(line) for line in others]
        length += len(words)
        reference_length += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(4):
            most = Counter()
            for other in others:
                most |= ngrams(other, n + 1)
            counts = ngrams(words, n + 1)
            totals[n] += sum(counts.values())
            matches[n] += sum((counts & most).values())
    bleu = 0.0
    if min(matches) > 0:
        bleu = 100 * math.exp(sum(math.log(m / t) for m, t in zip(matches, totals)) / 4)
        bleu *= math.exp(1 - reference_length / length) if length < reference_length else 1
    return dict(score=bleu, matches=matches, totals=totals, hypothesis_length=length, reference_length=reference_length)


def prepare(lines, is_tokenized, prepare_text, prepare_tokens):
    tokenizer = MosesTokenizer("de")
    tokenize = lambda line: line if is_tokenized else tokenizer.tokenize(prepare_text(line), return_str=True)
    return [prepare_tokens(tokenize(line).encode()) for line in lines]


def multi_bleu(hypotheses, references, is_tokenized, lowercase=False):
    same = lambda text: text
    sides = [prepare(lines, is_tokenized, same, same) for lines in [hypotheses, *references]]
    return score(sides[0], sides[1:], lowercase)


def compound_split_bleu(hypotheses, references, is_tokenized, lowercase=False):
    quotes = lambda text: text.translate(QUOTES)
    split = lambda tokens: re.sub(rb"([^ \t\n\v\f\r])-([^ \t\n\v\f\r])", rb"\1 ##AT##-##AT## \2", tokens)
    sides = [prepare(lines, is_tokenized, quotes, split) for lines in [hypotheses, *references]]
    return score(sides[0], sides[1:], lowercase)
