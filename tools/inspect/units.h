// Formats numbers in human-readable units with three significant digits.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>

namespace gyre {

// Consecutive units differ by `factor`. Numbers from `most` on use the next unit.
inline std::string in_units(double x, double factor, double most, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; x >= most && unit + 1 != units.end(); ++unit) x /= factor;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", x, *unit);
  return text;
}

// "812 B", "1.5 KiB", "3 MiB".
inline std::string human_bytes(double bytes) { return in_units(bytes, 1024, 1000, {"B", "KiB", "MiB", "GiB", "TiB"}); }

// A count with an SI prefix, to be followed by a unit: "812 ", "1.5 k", "3 M".
inline std::string human_count(double count) { return in_units(count, 1000, 999.5, {"", "k", "M", "G", "T", "P"}); }

// "85 us", "1.5 ms", "3 s".
inline std::string human_seconds(double seconds) { return in_units(1e6 * seconds, 1000, 999.5, {"us", "ms", "s"}); }

}  // namespace gyre
