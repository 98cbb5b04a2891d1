// Formats a number with its noun: "1 thread", "2 threads".
#pragma once

#include <string>
#include <string_view>

#include "gyre/core/error.h"

namespace gyre {

// `noun` is a singular; its plural is formed with "s", or with "es" after "ch".
template <class Number>
std::string counted(Number number, std::string_view noun) {
  return concat(number, " ", noun, number == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

}  // namespace gyre
