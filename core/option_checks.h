// Checks of option values. Each throws a UsageError with the flag, the expected value and the given value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "gyre/core/error.h"

namespace gyre {

// Upper bounds of sizes in options and files. A larger value is rejected as a mistake.

inline constexpr int64_t kMaxDimension = 10'000'000;  // limit of any dimension of a model, and of a vocabulary
inline constexpr int64_t kMaxLayers = 1000;
inline constexpr int kMaxThreads = 1024;  // limit per process

template <class Value>
void expect(bool ok, std::string_view flag, std::string_view expected, const Value& got) {
  if (!ok) throw UsageError("[", flag, "] expected ", expected, ", got ", got);
}

template <class Value>
void expect_at_least(std::type_identity_t<Value> minimum, std::string_view flag, Value got) {
  expect(got >= minimum, flag, concat("at least ", minimum), got);
}

template <class Value>
void expect_between(Value minimum, Value maximum, std::string_view flag, Value got) {
  expect(got >= minimum && got <= maximum, flag, concat("a number from ", minimum, " to ", maximum), got);
}

inline void expect_finite_at_least(double minimum, std::string_view flag, double got) {
  expect(std::isfinite(got) && got >= minimum, flag, concat("a number of at least ", minimum), got);
}

// For rates such as decay, dropout and smoothing, which must be below 1.
inline void expect_fraction(std::string_view flag, double got) {
  expect(got >= 0 && got < 1, flag, "a number of at least 0 and below 1", got);
}

template <class Choices>
void expect_one_of(const Choices& choices, std::string_view flag, const std::string& got) {
  std::string expected;
  for (const std::string_view choice : choices) expected += (expected.empty() ? "" : ", ") + std::string(choice);
  expect(std::find(choices.begin(), choices.end(), got) != choices.end(), flag, "one of " + expected, "'" + got + "'");
}
inline void expect_one_of(std::initializer_list<std::string_view> choices, std::string_view flag,
                          const std::string& got) {
  expect_one_of<std::initializer_list<std::string_view>>(choices, flag, got);
}

}  // namespace gyre
