// Errors: library code throws gyre::Error; only main() ends the process. A message consists of the operation or option,
// the expectation and the actual value: "[rope] rotary dims must be even, got 7".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gyre {

// Concatenates the parts as text, formatted by operator<<, or by to_string() if they have no operator<<.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  const auto append = [&](const auto& part) {
    if constexpr (requires { text << part; }) {
      text << part;
    } else {
      text << to_string(part);
    }
  };
  (append(parts), ...);
  return text.str();
}

class Error : public std::runtime_error {
 public:
  template <class... Parts>
  explicit Error(const Parts&... parts) : std::runtime_error(concat(parts...)) {}
};

// The command line is wrong (unknown option, invalid combination): the exit status is 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Throws Error with the concatenated parts unless `ok`. Pass values, such as a Shape, instead of their text: they are
// formatted only for an error. A check of every line or token whose text has to be built throws Error by itself.
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) throw Error(parts...);
}

}  // namespace gyre
