#include "tools/bench/all_reduce.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/io/json.h"
#include "gyre/train/log/stopwatch.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {
namespace {

// Time of one all-reduce on the slowest rank.
double time_sum(Communicator& ranks, AsyncAllReduce& sum, const Tensor& values) {
  ranks.barrier();
  const Stopwatch watch;
  sum.start({values}, kSharedByRanks);
  sum.finish();
  std::vector<double> seconds(size_t(ranks.size()));
  seconds[size_t(ranks.rank())] = watch.seconds();
  ranks.all_reduce(std::span<double>(seconds));
  return *std::max_element(seconds.begin(), seconds.end());
}

// Bytes per second on a rank's links in each direction (the bus bandwidth of nccl-tests).
double bus_rate(const AllReduceReport& report, const AllReduceRow& row) {
  return row.megabytes * kMebibyte / row.seconds * 2 * (report.ranks - 1) / report.ranks;
}

// The sum over the ranks of the bytes/s at which they read and write memory at the same time.
double memory_rate(Communicator& ranks) {
  ranks.barrier();
  double rate = measure_memory_bandwidth(1);
  ranks.all_reduce(std::span<double>(&rate, 1));
  return rate;
}

}  // namespace

AllReduceReport run_all_reduce_bench(Communicator& ranks, const AllReduceBench& bench) {
  const auto sum = make_async_all_reduce(ranks, cpu_kernels(), bench.sum, nullptr);
  AllReduceReport report;
  report.ranks = ranks.size();
  for (const double megabytes : bench.megabytes) {
    const Tensor values = Tensor::zeros({std::max<int64_t>(1, int64_t(megabytes * kMebibyte / sizeof(float)))});
    time_sum(ranks, *sum, values);  // warm-up
    std::vector<double> seconds;
    for (int i = 0; i < bench.repetitions; ++i) seconds.push_back(time_sum(ranks, *sum, values));
    report.rows.push_back({megabytes, median(seconds)});
  }
  if (ranks.size() > 1 && ranks.machines().count() == 1) {
    const double moved = 2.0 * ranks.size();  // bytes per byte of the gradients
    report.limit_bus_rate = memory_rate(ranks) / moved * 2 * (ranks.size() - 1) / ranks.size();
  }
  const auto by_size = [](const AllReduceRow& a, const AllReduceRow& b) { return a.megabytes < b.megabytes; };
  const auto [small, large] = std::minmax_element(report.rows.begin(), report.rows.end(), by_size);
  report.latency = small->seconds;
  if (large->seconds > small->seconds)
    report.rate = (large->megabytes - small->megabytes) * kMebibyte / (large->seconds - small->seconds);
  return report;
}

Json to_json(const AllReduceReport& report) {
  Json summary{
      {"ranks", report.ranks}, {"latency", rounded(report.latency)}, {"bytes_per_second", rounded(report.rate)}};
  if (report.limit_bus_rate > 0) summary["limit_bus_gb_per_second"] = rounded(report.limit_bus_rate / 1e9);
  return summary;
}

Json rows_json(const AllReduceReport& report) {
  Json rows = Json::array();
  for (const AllReduceRow& row : report.rows) {
    rows.push_back({{"megabytes", row.megabytes},
                    {"milliseconds", rounded(row.seconds * 1e3)},
                    {"bus_gb_per_second", rounded(bus_rate(report, row) / 1e9)}});
  }
  return rows;
}

void print_rows(const AllReduceReport& report) {
  std::printf("%12s %12s %12s\n", "MiB", "ms", "bus GB/s");
  for (const AllReduceRow& row : report.rows) {
    std::printf("%12.4g %12.4g %12.4g\n", row.megabytes, row.seconds * 1e3, bus_rate(report, row) / 1e9);
  }
}

}  // namespace gyre
