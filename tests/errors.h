// Helpers for tests of error messages.
#pragma once

#include <string>
#include <string_view>

#include "gyre/core/error.h"

// Returns the message of the gyre::Error, or of the kind of error, that the call throws, or "no error".
template <class Kind = gyre::Error, class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
