// English number words, British style ("one hundred and twenty-three").
#pragma once

#include <cstdint>
#include <string>

namespace gyre::corpus {

std::string english_cardinal(uint32_t n);  // 0 <= n <= 1,000,000, otherwise Error
std::string english_ordinal(uint32_t n);   // 1 <= n <= 1,000,000, otherwise Error: "twenty-first"
// 1100 <= year <= 2099, otherwise Error: "nineteen hundred", "nineteen oh five", "two thousand and five", "twenty ten".
std::string english_year(uint32_t year);

}  // namespace gyre::corpus
