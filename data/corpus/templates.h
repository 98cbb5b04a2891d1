// The sentence patterns. Each makes one sentence with its final punctuation but without its capital letter. Whatever
// the German sentence says is said by the English one, so that an English sentence has exactly one translation.
#pragma once

#include <cstdint>
#include <span>

#include "data/corpus/draw.h"
#include "data/corpus/phrase.h"

namespace gyre::corpus {

struct Template {
  uint32_t weight;  // relative frequency
  Phrase (*make)(Draw&);
};

std::span<const Template> clause_templates();    // people doing things: word order, tense, separable verbs, case
std::span<const Template> number_templates();    // prices, measures, numerals
std::span<const Template> calendar_templates();  // clock times, dates, years, ordinals

}  // namespace gyre::corpus
