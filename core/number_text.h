// Formats numbers for messages.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "gyre/core/error.h"

namespace gyre {

// Formats a number with its noun: "1 thread", "2 threads".
// `noun` is a singular; its plural is formed with "s", or with "es" after "ch".
template <class Number>
std::string counted(Number number, std::string_view noun) {
  return concat(number, " ", noun, number == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

// Formats a checksum.
inline std::string hexadecimal(uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

}  // namespace gyre
