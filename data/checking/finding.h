// Results of a check of data: verdicts with numbers and example lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gyre {

enum class Severity : uint8_t { ok, warning, error };

struct Finding {
  Severity severity = Severity::ok;
  std::string topic;                  // subject of the check: "overlap"
  std::string text;                   // a sentence with numbers
  std::vector<std::string> examples;  // "train.de:12", "test.de:3 = train.de:812"
};

// Counts lines and keeps the numbers of the first ones.
struct LineList {
  static constexpr size_t kKept = 5;
  uint64_t count = 0;
  std::vector<uint64_t> first;  // numbers of lines, from 1

  void add(uint64_t line) {
    ++count;
    if (first.size() < kKept) first.push_back(line);
  }
};

}  // namespace gyre
