// Many lines in a golden file: their hash, and the random numbers that its script and its test both draw.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
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

// Joins random fragments, up to `longest` in a line, as make_moses.py and make_wobert.py do.
inline std::vector<std::string> random_lines(const nlohmann::json& expected, uint64_t longest, bool spaces) {
  const auto fragments = expected["fragments"].get<std::vector<std::string>>();
  GoldenRandom random;
  std::vector<std::string> lines(expected["random_lines"].get<size_t>());
  for (std::string& line : lines) {
    for (uint64_t parts = 1 + random.below(longest); parts > 0; --parts) {
      line += fragments[random.below(fragments.size())];
      if (spaces) line.append(random.below(2), ' ');
    }
  }
  return lines;
}
