// gyre bench allreduce: measures gradient all-reduce over the ranks of mpirun, by size.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "gyre/train/parallel/async_all_reduce.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

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
};

// Collective. All ranks get the same report.
AllReduceReport run_all_reduce_bench(Communicator& ranks, const AllReduceBench& bench);
nlohmann::ordered_json to_json(const AllReduceReport& report);
nlohmann::ordered_json rows_json(const AllReduceReport& report);
void print_rows(const AllReduceReport& report);

}  // namespace gyre
