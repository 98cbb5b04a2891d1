// Noun phrases: persons, counted nouns, definite nouns, measures and prices.
#pragma once

#include <cstdint>

#include "data/corpus/draw.h"
#include "data/corpus/lexicon.h"
#include "data/corpus/phrase.h"

namespace gyre::corpus {

Phrase cardinal(uint32_t n);  // the bare numeral, n <= 1,000,000

// "twenty-one red apples" / "einundzwanzig rote Äpfel". n >= 1; adjective may be null.
// With `article`, one is "a" or "an".
Phrase counted(uint32_t n, const Noun& noun, const Adjective* adjective, Case c, bool article = false);

// "the red apple" / "der rote Apfel", singular.
Phrase the_noun(const Noun& noun, const Adjective* adjective, Case c);

// A subject; nearly every second one is a pronoun, for each of them has verb forms of its own to learn.
const Person& somebody(Draw& draw);

// A handful of a noun that has one of these kinds, often with an adjective.
Phrase some_nouns(Draw& draw, uint32_t kinds, Case c);

// Two different ones: "three cats and a dog".
Phrase two_kinds_of_nouns(Draw& draw, uint32_t kinds, Case c);

const Noun& noun_of_kind(Draw& draw, uint32_t kinds);
const Adjective* maybe_adjective(Draw& draw, const Noun& noun);

namespace units {
extern const Noun kGram, kKilo, kLitre, kCentimetre, kMetre, kKilometre;
extern const Noun kMinute, kHour, kDay, kWeek, kMonth, kYear;
extern const Noun kDegree;
}  // namespace units

namespace money {
extern const Noun kEuro, kCent, kDollar, kPound, kFranc, kCrown;
}  // namespace money

// In the accusative: "one metre" / "einen Meter"; where low <= 1 sometimes with a half:
// "two and a half hours" / "zweieinhalb Stunden".
Phrase measure(Draw& draw, uint32_t low, uint32_t high, const Noun& unit);

// In the accusative: "three euros fifty" / "drei Euro fünfzig". Cents only below a hundred.
Phrase price(Draw& draw, uint32_t low, uint32_t high);

// An accusative object of one of these kinds: counted nouns, portions ("three litres of milk") or money.
Phrase some_object(Draw& draw, uint32_t kinds);

}  // namespace gyre::corpus
