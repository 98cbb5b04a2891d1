// Many lines in a golden file: their hash, and the random numbers that its script and its test both draw.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gyre/core/random.h"

// FNV-1a of the results with line ends, as 16 hexadecimal digits.
inline std::string hash_lines(const std::vector<std::string>& lines,
                              const std::function<std::string(const std::string&)>& operation) {
  std::string text;
  for (const std::string& line : lines) text += operation(line) + "\n";
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(gyre::hash_name(text)));
  return digits;
}

// Knuth's MMIX generator, as in golden/golden_lines.py.
class GoldenRandom {
 public:
  uint64_t below(uint64_t n) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return (state_ >> 33) % n;
  }

 private:
  uint64_t state_ = 1;
};
