// gyre bench allreduce: measures the time of gradient all-reduce for several sizes, under mpirun.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/parallel/async_all_reduce.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/parallel_options.h"
#include "tools/print_summary.h"
#include "tools/program.h"
#include "tools/workload/bench_metrics.h"

namespace gyre {
namespace {

// gyre bench allreduce: measures gradient all-reduce over the ranks of mpirun, by size.
struct AllReduceBench {
  std::vector<double> megabytes{0.0625, 0.25, 1, 4, 16, 64, 256};  // sizes in fp32
  int repetitions = 10;
  AllReduceOptions sum;
};

struct AllReduceRow {
  double megabytes, seconds;  // seconds: median of the slowest rank's times
};

struct AllReduceReport {
  int ranks = 1;
  std::vector<AllReduceRow> rows;
  // Fit of seconds(bytes) = latency + bytes / rate through the smallest and the largest size.
  double latency = 0, rate = 0;
  // If all ranks are on one machine: the bus rate at which the memory of the machine would be busy with reading and
  // writing the gradients once on each rank, measured on all ranks at the same time; else 0.
  double limit_bus_rate = 0;
};

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

// The bus rate is bytes / seconds x 2 (ranks - 1) / ranks: what each rank sends, and receives, in an all-reduce.
// Collective. All ranks get the same report.
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

struct AllReduceArgs {
  AllReduceBench bench;
  std::string comm_dtype = "fp32";
  int zero = 0;
  bool shared_memory = true;
  bool json = false;
};

int measure(AllReduceArgs& args) {
  for (const double megabytes : args.bench.megabytes)
    if (megabytes <= 0 || megabytes > 1024)
      throw UsageError("--sizes: expected more than 0 and at most 1024 MiB, got ", megabytes);
  expect_at_least(1, "--steps", args.bench.repetitions);
  ParallelOptions{.zero = args.zero}.validate();
  return with_communicator([&](Communicator& ranks) {
    args.bench.sum = {.comm_dtype = parse_comm_dtype(args.comm_dtype),
                      .sharded = args.zero >= 1,
                      .shared_memory = args.shared_memory};
    const AllReduceReport report = run_all_reduce_bench(ranks, args.bench);
    if (ranks.rank() != 0) return 0;
    Json summary{{"communicator", ranks.name()}};
    summary.update(to_json(report));
    summary["exchange"] = args.bench.sum.shared_memory && ranks.shares_memory() ? "shared memory" : "messages";
    if (args.json) summary["rows"] = rows_json(report);
    print_summary(summary, args.json);
    if (!args.json) print_rows(report);
    return 0;
  });
}

}  // namespace

void add_bench_all_reduce_command(Program& program) {
  auto args = std::make_shared<AllReduceArgs>();
  OptionTable& table = program.command(
      "bench allreduce", "gradient all-reduce by size, under mpirun", [args] { return measure(*args); },
      Program::Processes::ranks);
  table.add_list("--sizes", args->bench.megabytes, "MIB,...", "sizes of the fp32 gradients");
  table.add_choice("--gradient-dtype", args->comm_dtype, {"fp32", "bf16"}, "data type of gradients sent between ranks");
  table.add("--zero", args->zero, "STAGE", "1 or 2: reduce-scatter, each rank gets the sums of its shard");
  table.add_flag("--shared-memory,!--no-shared-memory", args->shared_memory,
                 "ranks of one machine exchange gradients in shared memory, otherwise by messages");
  table.add("--steps", args->bench.repetitions, "NUMBER",
            "runs of each size, after one warm-up run; the median is reported");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
