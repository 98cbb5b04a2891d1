// How the share of a fault in a set becomes a verdict.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "gyre/core/error.h"
#include "gyre/data/checking/finding.h"

namespace gyre {

// Shares above which a finding is a warning or an error.
struct Limits {
  double warning, error;
};
inline constexpr double kNever = 2;
// Shares of unknown pieces; an error means that the vocabulary is of another text.
inline constexpr Limits kUnknown{0.001, 0.1};

inline double share_of(uint64_t count, uint64_t all) { return all == 0 ? 0 : double(count) / double(all); }

inline std::string percent(double share) {
  const double value = share * 100;
  return concat(value > 0 && value < 0.001 ? 0.001 : std::round(value * 1000) / 1000, " %");
}

inline Severity severity_of(double share, const Limits& limits) {
  if (share > limits.error) return Severity::error;
  return share > limits.warning ? Severity::warning : Severity::ok;
}

}  // namespace gyre
