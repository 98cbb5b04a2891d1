// What every bench prints: rates with their share of the machine's limit.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace gyre {

// Five significant digits: the rest is noise.
inline double rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", x);
  return std::stod(text);
}

// gflops, limit_gflops and share, from FLOP/s.
inline void add_rate(nlohmann::ordered_json& facts, double flops, double limit) {
  facts["gflops"] = rounded(flops / 1e9);
  facts["limit_gflops"] = rounded(limit / 1e9);
  facts["share"] = rounded(flops / limit);
}

inline double median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The most memory that this process has held since then, in MiB: what a measured limit took does not count, where the
// system lets the mark be moved back (Linux does).
inline void reset_peak_rss() { std::ofstream("/proc/self/clear_refs") << 5; }
inline double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

// Of the process, and of the tensors on a GPU where there is one.
inline void add_memory(nlohmann::ordered_json& facts, double rss_mb, double gpu_mb) {
  facts["peak_rss_mb"] = rounded(rss_mb);
  if (gpu_mb > 0) facts["peak_gpu_mb"] = rounded(gpu_mb);
}

}  // namespace gyre
