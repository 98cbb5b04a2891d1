// Number words of English, British style ("one hundred and twenty-three"), and German, where a compound is one word and
// keeps its leading "ein": "einhundertdreizehn", "eintausendeins".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gyre/data/synthetic/lexicon.h"

namespace gyre::corpus {

std::string english_cardinal(uint32_t n);  // throws an Error unless 0 <= n <= 1,000,000
std::string english_ordinal(uint32_t n);   // "twenty-first"; throws an Error unless 1 <= n <= 1,000,000
// "nineteen hundred", "nineteen oh five", "two thousand and five", "twenty ten". Throws an Error unless
// 1100 <= year <= 2099.
std::string english_year(uint32_t year);

// The German numeral without a noun, as in counting. 1 is "eins", 101 "einhunderteins", 10^6 "eine Million". Throws an
// Error unless 0 <= n <= 1,000,000.
std::string german_cardinal(uint32_t n);

// The numeral before a noun. 1 agrees with the noun ("ein", "eine", "einen"), a million is a feminine noun itself
// ("mit einer Million"), and all others are not inflected ("einundzwanzig", "einhunderteins Äpfel").
std::string german_count(uint32_t n, Gender gender, Case grammatical_case);

// The stem of the ordinal with an adjective ending: "dritt" + "en". Throws an Error unless 1 <= n <= 1,000,000.
std::string german_ordinal(uint32_t n, std::string_view ending);

// The words for a year: "neunzehnhundertneunundneunzig", "zweitausendeinundzwanzig". Throws an Error unless
// 1100 <= year <= 2099.
std::string german_year(uint32_t year);

}  // namespace gyre::corpus
