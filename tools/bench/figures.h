// What every bench prints: rates with their share of the machine's limit.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace gyre {

// Five significant digits: the rest is noise.
double rounded(double x);

// gflops, limit_gflops and share, from FLOP/s.
void add_rate(nlohmann::ordered_json& facts, double flops, double limit);

double median(std::vector<double> values);

// The most memory that this process has held since then, in MiB: what a measured limit took does not count, where the
// system lets the mark be moved back (Linux does).
void reset_peak_rss();
double peak_rss_mb();

// Of the process, and of the tensors on a GPU where there is one.
void add_memory(nlohmann::ordered_json& facts, double rss_mb, double gpu_mb);

}  // namespace gyre
