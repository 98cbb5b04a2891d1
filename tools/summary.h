// Results of a command: a summary as text or as JSON, rates with their share of the machine's limit, and memory.
#pragma once

#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

// Prints one JSON object, or one line `name: value` per entry.
void print_summary(const Json& summary, bool json);

inline constexpr double kGiga = 1e9;
inline constexpr double kMebibyte = 1 << 20;

// Rounds to five significant digits; the rest is noise.
double rounded(double x);

// Adds gflops, limit_gflops and share. `flops` and `limit` are in FLOP/s.
void add_rate(Json& summary, double flops, double limit);

double median(std::vector<double> values);

// peak_rss_mb() returns the peak resident memory of this process in MiB since reset_peak_rss(), which excludes the
// memory of limit measurements. Systems other than Linux may ignore the reset.
void reset_peak_rss();
double peak_rss_mb();

// Adds the peak memory of the process and, if there is a GPU, of the tensors on it.
void add_memory(Json& summary, double rss_mb, double gpu_mb);

}  // namespace gyre
