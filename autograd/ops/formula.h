// The literal operator for the formulas of ops: R"( .. )"_formula is the text between the first and the last line break
// of the literal, with the indentation of its first line removed from every line.
#pragma once

#include <cstddef>
#include <string_view>

namespace gyre {

template <size_t N>
struct FormulaText {
  char text[N] = {};
  size_t size = 0;

  consteval FormulaText(const char (&raw)[N]) {  // NOLINT: the conversion from a literal is meant to be implicit
    if (raw[0] != '\n') throw "a formula must start on a new line";
    size_t indentation = 0;
    while (raw[1 + indentation] == ' ') ++indentation;
    for (size_t i = 1; i + 1 < N; ++i) {
      if (raw[i - 1] == '\n')
        for (size_t skipped = 0; skipped < indentation && raw[i] == ' '; ++skipped) ++i;
      text[size++] = raw[i];
    }
    while (text[size - 1] != '\n') --size;  // drop the indentation of the closing quote
    --size;
  }
};

template <FormulaText formula>
consteval std::string_view operator""_formula() {
  return {formula.text, formula.size};
}

}  // namespace gyre
