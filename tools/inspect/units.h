// Numbers in units that people read: three digits.
#pragma once

#include <cstdio>
#include <string>

namespace gyre {

// "812 B", "1.5 KiB", "3 MiB".
inline std::string human_bytes(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, units[unit]);
  return text;
}

// Of a large number, before its unit: "812 ", "1.5 k", "3 M".
inline std::string human_count(double count) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  for (; count >= 999.5 && prefix < 5; ++prefix) count /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", count, prefixes[prefix]);
  return text;
}

// "85 us", "1.5 ms", "3 s".
inline std::string human_seconds(double seconds) {
  const char* const units[] = {"s", "ms", "us"};
  int unit = 0;
  for (; seconds < 0.9995 && unit < 2; ++unit) seconds *= 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", seconds, units[unit]);
  return text;
}

}  // namespace gyre
