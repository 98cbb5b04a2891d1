// Errors: library code throws gyre::Error; only main ends the process.
// A message names the thing, what was expected and what came: "[rope] rotary dims must be even, got 7".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gyre {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

class Error : public std::runtime_error {
 public:
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(concat(parts...)) {}
};

// The call itself was wrong (unknown flag, impossible combination): exit status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) throw Error(parts...);
}

}  // namespace gyre
