// The sentence templates. Each makes one sentence with final punctuation but without an initial capital. The English
// sentence contains all information of the German one, so that it has exactly one translation.
#pragma once

#include <cstdint>
#include <span>

#include "gyre/data/synthetic/phrases.h"

namespace gyre::corpus {

struct Template {
  uint32_t weight;  // relative frequency
  Phrase (*make)(Draw&);
};

std::span<const Template> clause_templates();    // activities of people: word order, tense, separable verbs, case
std::span<const Template> number_templates();    // prices, measures, numerals
std::span<const Template> calendar_templates();  // clock times, dates, years, ordinals

}  // namespace gyre::corpus
