// English number words, British style ("one hundred and twenty-three").
#pragma once

#include <cstdint>
#include <string>

namespace gyre::corpus {

std::string english_cardinal(uint32_t n);  // throws an Error unless 0 <= n <= 1,000,000
std::string english_ordinal(uint32_t n);   // "twenty-first"; throws an Error unless 1 <= n <= 1,000,000
// "nineteen hundred", "nineteen oh five", "two thousand and five", "twenty ten". Throws an Error unless
// 1100 <= year <= 2099.
std::string english_year(uint32_t year);

}  // namespace gyre::corpus
