#include "tools/workload/profile_table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {
namespace {

// FLOP/s of forward and backward together.
double rate(const ProfileRow& row) { return row.seconds() > 0 ? kTrainingFlopsFactor * row.flops / row.seconds() : 0; }

ProfileRow sum_of(const std::vector<ProfileRow>& rows) {
  ProfileRow sum{.name = "sum"};
  for (const ProfileRow& row : rows) {
    sum.calls += row.calls;
    sum.forward_seconds += row.forward_seconds;
    sum.backward_seconds += row.backward_seconds;
    sum.outside_seconds += row.outside_seconds;
    sum.flops += row.flops;
    sum.kept_bytes += row.kept_bytes;
  }
  return sum;
}

// Formats x, or returns "" if there is no value.
std::string number(const char* format, double x, bool there) {
  char text[32] = "";
  if (there) std::snprintf(text, sizeof text, format, x);
  return text;
}

double predicted_seconds(const std::vector<ProfileRow>& predicted, const std::string& name) {
  for (const ProfileRow& row : predicted)
    if (row.name == name) return row.seconds();
  return 0;
}

}  // namespace

std::vector<ProfileRow> per_step(std::vector<ProfileRow> rows, int steps) {
  for (ProfileRow& row : rows) {
    row.calls /= steps;
    for (double* sum : {&row.forward_seconds, &row.backward_seconds, &row.outside_seconds, &row.flops, &row.kept_bytes})
      *sum /= steps;
  }
  return rows;
}

Json profile_json(const std::vector<ProfileRow>& rows, double limit_flops, const std::vector<ProfileRow>& predicted) {
  const double all = sum_of(rows).seconds();
  Json list = Json::array();
  for (const ProfileRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"calls", row.calls},
                    {"forward_ms", rounded(1e3 * row.forward_seconds)},
                    {"backward_ms", rounded(1e3 * row.backward_seconds)},
                    {"ms", rounded(1e3 * row.seconds())},
                    {"gflops", rounded(rate(row) / 1e9)},
                    {"share_of_limit", rounded(rate(row) / limit_flops)},
                    {"kept_mib", rounded(row.kept_bytes / kMebibyte)},
                    {"share", rounded(row.seconds() / all)}});
    if (!predicted.empty()) list.back()["predicted_ms"] = rounded(1e3 * predicted_seconds(predicted, row.name));
  }
  return list;
}

void print_profile(const std::string& title, const std::vector<ProfileRow>& rows, double limit_flops,
                   const std::vector<ProfileRow>& predicted) {
  size_t width = 20;
  for (const ProfileRow& row : rows) width = std::max(width, row.name.size());
  std::printf("\n%-*s %6s %12s %12s %9s %7s %9s %9s %9s%s\n", int(width), title.c_str(), "calls", "forward ms",
              "backward ms", "ms", "share", "GFLOP/s", "of limit", "kept MiB", predicted.empty() ? "" : " predicted");
  const ProfileRow sum = sum_of(rows);
  const auto line = [&](const ProfileRow& row, double prediction) {
    const bool products = row.flops > 0;
    std::printf("%-*s %6lld %12.2f %12.2f %9.2f %6.1f%% %9s %9s %9.2f%s\n", int(width), row.name.c_str(),
                static_cast<long long>(row.calls), 1e3 * row.forward_seconds, 1e3 * row.backward_seconds,
                1e3 * row.seconds(), 100 * row.seconds() / sum.seconds(),
                number("%.1f", rate(row) / 1e9, products).c_str(),
                number("%.1f%%", 100 * rate(row) / limit_flops, products).c_str(), row.kept_bytes / kMebibyte,
                number(" %9.2f", 1e3 * prediction, !predicted.empty()).c_str());
  };
  for (const ProfileRow& row : rows) line(row, predicted_seconds(predicted, row.name));
  line(sum, sum_of(predicted).seconds());
}

}  // namespace gyre
