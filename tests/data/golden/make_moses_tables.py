"""Writes data/text/moses/character_tables.inc and nonbreaking_prefixes.inc from the data of sacremoses 0.2.

    pip install sacremoses==0.2.0
    python make_moses_tables.py
"""
import pathlib
import textwrap

import sacremoses

FOLDER = pathlib.Path(__file__).parents[3] / "data" / "text" / "moses"
SOURCE = f"// Written by tests/data/golden/make_moses_tables.py from the data of sacremoses {sacremoses.__version__}"


def ranges(characters):
    """Code points as (first, last, step) with steps of 1 or 2."""
    points = sorted({ord(c) for c in characters} - {ord("\n")})  # some lists of sacremoses end with a line end
    result, i = [], 0
    while i < len(points):
        best = (1, 1)
        for step in (1, 2):
            n = 1
            while i + n < len(points) and points[i + n] - points[i + n - 1] == step:
                n += 1
            best = max(best, (n, step), key=lambda found: found[0])
        result.append((points[i], points[i + best[0] - 1], best[1]))
        i += best[0]
    return result


def table(name, characters):
    entries = ", ".join("{0x%X,~0x%X%s}" % (a, b, ",~2" if step == 2 else "") for a, b, step in ranges(characters))
    body = textwrap.fill(entries, 118, initial_indent="    ", subsequent_indent="    ").replace("~", " ")
    return f"constexpr Range {name}[] = {{\n{body}}};\n"


def write_characters():
    tokenizer, detokenizer = sacremoses.MosesTokenizer, sacremoses.MosesDetokenizer
    letters = set(detokenizer.IsAlpha)
    marks = set(tokenizer.IsAlpha) - letters
    digits = set(tokenizer.IsAlnum) - set(tokenizer.IsAlpha)
    text = SOURCE + ": IsAlpha without\n// and only with VIRAMAS and NUKTAS, IsAlnum without IsAlpha, IsN, IsLower, IsSc.\n\n"
    text += "\n".join([table("kLetters", letters), table("kMarks", marks), table("kDigits", digits),
                       table("kNumbers", tokenizer.IsN), table("kLowercaseLetters", tokenizer.IsLower),
                       table("kCurrencySymbols", detokenizer.IsSc)])
    (FOLDER / "character_tables.inc").write_text(text)


def words(name, list_of_words):
    quoted = [f'U"{word}"' for word in sorted(list_of_words)]
    body = textwrap.fill(", ".join(quoted), 118, initial_indent="    ", subsequent_indent="    ",
                         break_on_hyphens=False)
    return f"constexpr std::u32string_view {name}[] = {{\n{body}}};\n"


LANGUAGES = {"English": "en", "German": "de", "French": "fr", "Spanish": "es", "Italian": "it", "Czech": "cs",
             "Russian": "ru"}


def write_prefixes():
    text = SOURCE + """ (MIT license).
// Those are the lists of abbreviations of Moses, share/nonbreaking_prefixes/nonbreaking_prefix.LANGUAGE, whose authors
// name Daniel Naber's Language Tools and the Czech Wiktionary as sources of the Czech ones. Abbreviations with a space
// are left out, because they never match a word.
"""
    for name, language in LANGUAGES.items():
        tokenizer = sacremoses.MosesTokenizer(language)
        numeric = set(tokenizer.NUMERIC_ONLY_PREFIXES)
        plain = {word for word in tokenizer.NONBREAKING_PREFIXES if "#" not in word and " " not in word}
        text += "\n" + words(f"k{name}Prefixes", plain - numeric)
        if numeric:
            text += f"\n// They need a number after them.\n" + words(f"k{name}NumericPrefixes", numeric)
    (FOLDER / "nonbreaking_prefixes.inc").write_text(text)


write_characters()
write_prefixes()
