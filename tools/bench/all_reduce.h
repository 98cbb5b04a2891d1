// gyre bench allreduce: sums over the ranks of mpirun, by size.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "train/communicator.h"
#include "train/range_sum.h"

namespace gyre {

struct AllReduceBench {
  std::vector<double> megabytes{0.0625, 0.25, 1, 4, 16, 64, 256};  // of fp32
  int repetitions = 10;
  SumOptions sum;
};

struct AllReduceRow {
  double megabytes, seconds;  // the median of the slowest rank
};

struct AllReduceReport {
  int ranks = 1;
  std::vector<AllReduceRow> rows;
  // seconds(bytes) = latency + bytes / rate, through the smallest size and the largest.
  double latency = 0, rate = 0;
};

// Collective; the report is rank 0's.
AllReduceReport run_all_reduce_bench(Communicator& ranks, const AllReduceBench& bench);
nlohmann::ordered_json to_json(const AllReduceReport& report);
nlohmann::ordered_json rows_json(const AllReduceReport& report);
void print_rows(const AllReduceReport& report);

}  // namespace gyre
