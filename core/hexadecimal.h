// Formats checksums for messages.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

namespace gyre {

inline std::string hexadecimal(uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

}  // namespace gyre
