// What a call throws, for tests of messages.
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

// The message of the gyre::Error, or "no error".
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const gyre::Error& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
