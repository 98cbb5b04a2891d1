// Formulas as they stand in the ops: R"( .. )"_formula is the text between its first and its last line break, without
// the indentation of its first line.
#pragma once

#include <cstddef>
#include <string_view>

namespace gyre {

template <size_t N>
struct FormulaText {
  char text[N] = {};
  size_t size = 0;

  consteval FormulaText(const char (&raw)[N]) {  // NOLINT: a literal becomes one
    if (raw[0] != '\n') throw "a formula starts on a line of its own";
    size_t indentation = 0;
    while (raw[1 + indentation] == ' ') ++indentation;
    for (size_t i = 1; i + 1 < N; ++i) {
      if (raw[i - 1] == '\n')
        for (size_t skipped = 0; skipped < indentation && raw[i] == ' '; ++skipped) ++i;
      text[size++] = raw[i];
    }
    while (text[size - 1] != '\n') --size;  // what stands before the closing quote
    --size;
  }
};

template <FormulaText formula>
consteval std::string_view operator""_formula() {
  return {formula.text, formula.size};
}

}  // namespace gyre
