// gyre bench allreduce: measures gradient all-reduce over the ranks of mpirun, by size.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/core/io/json.h"
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
  // If all ranks are on one machine: the bus rate at which the memory of the machine would be busy with reading and
  // writing the gradients once on each rank, measured on all ranks at the same time; else 0.
  double limit_bus_rate = 0;
};

// The bus rate is bytes / seconds x 2 (ranks - 1) / ranks: what each rank sends, and receives, in an all-reduce.
// Collective. All ranks get the same report.
AllReduceReport run_all_reduce_bench(Communicator& ranks, const AllReduceBench& bench);
Json to_json(const AllReduceReport& report);
Json rows_json(const AllReduceReport& report);
void print_rows(const AllReduceReport& report);

}  // namespace gyre
