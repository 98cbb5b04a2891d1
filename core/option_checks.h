// Bounds and checks of option values. A check throws a UsageError with the flag, the expected value and the given
// value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
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

// The numbers that an option accepts, with the words for them in messages.
struct Bounds {
  std::string expected;
  double minimum = -std::numeric_limits<double>::infinity(), maximum = std::numeric_limits<double>::infinity();
  bool includes_minimum = true, includes_maximum = true;

  bool contain(double value) const {
    const bool above = includes_minimum ? value >= minimum : value > minimum;
    const bool below = includes_maximum ? value <= maximum : value < maximum;
    return std::isfinite(value) && above && below;
  }
};

template <class Number>
Bounds at_least(Number minimum) {
  return {.expected = concat("at least ", minimum), .minimum = double(minimum)};
}
template <class Number>
Bounds between(Number minimum, Number maximum) {
  return {.expected = concat("a number from ", minimum, " to ", maximum),
          .minimum = double(minimum),
          .maximum = double(maximum)};
}
inline Bounds finite_at_least(double minimum) {
  return {.expected = concat("a number of at least ", minimum), .minimum = minimum};
}
inline Bounds positive() { return {.expected = "a positive number", .minimum = 0, .includes_minimum = false}; }
// For rates such as decay, dropout and smoothing.
inline Bounds fraction() {
  return {.expected = "a number of at least 0 and below 1", .minimum = 0, .maximum = 1, .includes_maximum = false};
}

// The same checks, for values that no option declares. They compare integers as they are, because a double does not
// hold all of them exactly.
template <class Value>
void expect_at_least(std::type_identity_t<Value> minimum, std::string_view flag, Value got) {
  expect(got >= minimum, flag, at_least(minimum).expected, got);
}

template <class Value>
void expect_between(Value minimum, Value maximum, std::string_view flag, Value got) {
  expect(got >= minimum && got <= maximum, flag, between(minimum, maximum).expected, got);
}

inline void expect_finite_at_least(double minimum, std::string_view flag, double got) {
  expect(finite_at_least(minimum).contain(got), flag, finite_at_least(minimum).expected, got);
}

inline void expect_fraction(std::string_view flag, double got) {
  expect(fraction().contain(got), flag, fraction().expected, got);
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
