// The checks of option values: each throws a UsageError that names the flag, what was expected and what came.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/error.h"

namespace gyre {

template <class Value>
void expect(bool ok, std::string_view flag, std::string_view expected, const Value& got) {
  if (!ok) throw UsageError("[", flag, "] expected ", expected, ", got ", got);
}

template <class Value>
void expect_at_least(Value minimum, std::string_view flag, Value got) {
  expect(got >= minimum, flag, concat("at least ", minimum), got);
}

template <class Value>
void expect_between(Value minimum, Value maximum, std::string_view flag, Value got) {
  expect(got >= minimum && got <= maximum, flag, concat("a number from ", minimum, " to ", maximum), got);
}

inline void expect_finite_at_least(double minimum, std::string_view flag, double got) {
  expect(std::isfinite(got) && got >= minimum, flag, concat("a number of at least ", minimum), got);
}

// Rates of decay, dropout and smoothing: 1 would leave nothing.
inline void expect_fraction(std::string_view flag, double got) {
  expect(got >= 0 && got < 1, flag, "a number of at least 0 and below 1", got);
}

inline void expect_one_of(std::initializer_list<std::string_view> choices, std::string_view flag,
                          const std::string& got) {
  std::string expected;
  for (const std::string_view choice : choices) expected += (expected.empty() ? "" : ", ") + std::string(choice);
  expect(std::find(choices.begin(), choices.end(), got) != choices.end(), flag, "one of " + expected, "'" + got + "'");
}

}  // namespace gyre
