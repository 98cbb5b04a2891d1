// Builds noun phrases: persons, counted nouns, definite nouns, measures and prices.
#pragma once

#include <cstdint>

#include "gyre/data/synthetic/draw.h"
#include "gyre/data/synthetic/lexicon.h"
#include "gyre/data/synthetic/phrase.h"

namespace gyre::corpus {

Phrase cardinal(uint32_t n);  // the numeral without a noun, n <= 1,000,000

// "twenty-one red apples" / "einundzwanzig rote Äpfel". n >= 1; adjective may be null.
// With `article`, 1 is "a" or "an".
Phrase counted(uint32_t n, const Noun& noun, const Adjective* adjective, Case c, bool article = false);

// "the red apple" / "der rote Apfel", singular.
Phrase the_noun(const Noun& noun, const Adjective* adjective, Case c);

// A random subject. Nearly half are pronouns, because a model must learn separate verb forms for each of them.
const Person& somebody(Draw& draw);

// A small random number of a noun of one of these kinds, often with an adjective.
Phrase some_nouns(Draw& draw, uint32_t kinds, Case c);

// Two different nouns: "three cats and a dog".
Phrase two_kinds_of_nouns(Draw& draw, uint32_t kinds, Case c);

const Noun& noun_of_kind(Draw& draw, uint32_t kinds);
const Adjective* maybe_adjective(Draw& draw, const Noun& noun);

namespace units {
extern const Noun kGram, kKilo, kLiter, kCentimeter, kMeter, kKilometer;
extern const Noun kMinute, kHour, kDay, kWeek, kMonth, kYear;
extern const Noun kDegree;
}  // namespace units

namespace money {
extern const Noun kEuro, kCent, kDollar, kPound, kFranc, kCrown;
}  // namespace money

// A measure in the accusative: "one metre" / "einen Meter". If low <= 1, sometimes with a half:
// "two and a half hours" / "zweieinhalb Stunden".
Phrase measure(Draw& draw, uint32_t low, uint32_t high, const Noun& unit);

// A price in the accusative: "three euros fifty" / "drei Euro fünfzig". Has cents only below a hundred.
Phrase price(Draw& draw, uint32_t low, uint32_t high);

// An accusative object of one of these kinds: counted nouns, portions ("three litres of milk") or money.
Phrase some_object(Draw& draw, uint32_t kinds);

}  // namespace gyre::corpus
