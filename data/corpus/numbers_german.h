// German number words. Compounds are one word and keep their leading "ein": "einhundertdreiundzwanzig",
// "eintausendeins".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/corpus/german_grammar.h"

namespace gyre::corpus {

// The bare numeral, as in counting: 0 <= n <= 1,000,000, otherwise Error. 1 is "eins", 101 "einhunderteins", 10^6 "eine
// Million".
std::string german_cardinal(uint32_t n);

// The numeral before a noun: 1 agrees with it ("ein", "eine", "einen"), a million is itself a feminine noun
// ("mit einer Million"), all others stay as they are ("einundzwanzig", "einhunderteins Äpfel").
std::string german_count(uint32_t n, Gender gender, Case grammatical_case);

// 1 <= n <= 1,000,000, otherwise Error: the stem and an adjective's ending, "dritt" + "en".
std::string german_ordinal(uint32_t n, std::string_view ending);

// 1100 <= year <= 2099, otherwise Error: "neunzehnhundertneunundneunzig", "zweitausendeinundzwanzig".
std::string german_year(uint32_t year);

}  // namespace gyre::corpus
