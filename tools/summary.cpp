#include "tools/summary.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

void print_summary(const Json& summary, bool json) {
  if (json) {
    std::cout << json_text(summary) << '\n';
    return;
  }
  for (const auto& [name, value] : summary.items())
    std::cout << printable_line(concat(name, ": ", value.is_string() ? value.get<std::string>() : json_text(value)))
              << '\n';
}

double rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", x);
  return std::stod(text);
}

void add_rate(Json& summary, double flops, double limit) {
  summary["gflops"] = rounded(flops / 1e9);
  summary["limit_gflops"] = rounded(limit / 1e9);
  summary["share"] = rounded(flops / limit);
}

double median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void reset_peak_rss() { std::ofstream("/proc/self/clear_refs") << 5; }

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

void add_memory(Json& summary, double rss_mb, double gpu_mb) {
  summary["peak_rss_mb"] = rounded(rss_mb);
  if (gpu_mb > 0) summary["peak_gpu_mb"] = rounded(gpu_mb);
}

}  // namespace gyre
