// gyre bench ranks: measures training steps on one machine for several divisions of its cores into ranks and threads.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

// The parts of this machine to which ranks can be bound.
struct MachineParts {
  int cores = 1, numa_nodes = 1, sockets = 1;
};
MachineParts parts_of_machine();  // the cores on which this process may run

struct RanksBench {
  std::string preset = "multi30k-tiny";
  std::string precision = "fp32";
  std::string mpirun = "mpirun";
  MachineParts machine;
  int steps = 5;
  int turns = 2;  // runs of every division, taking turns
};

struct RanksRow {
  int ranks = 1, threads = 1;  // threads of each rank
  std::string binding;         // the unit to which Open MPI binds a rank: none, core, numa, socket
  double tokens_per_second = 0, share = 0, rank_mb = 0;  // medians; of all ranks, of the machine's limit, of one rank
};

// All divisions of the cores into ranks of equally many threads, each with every binding that differs on this machine.
std::vector<RanksRow> divisions(const MachineParts& machine);

// Starts `gyre bench step` under mpirun for every division, with `program` as gyre. Throws an Error if a run fails.
std::vector<RanksRow> run_ranks_bench(const RanksBench& bench, const std::string& program);
// The command that starts `program`: mpirun with its options, unless there is a single rank that is not bound.
std::string command_of(const RanksRow& row, const std::string& mpirun, const std::string& program);

Json rows_json(const std::vector<RanksRow>& rows);
void print_rows(const std::vector<RanksRow>& rows);

}  // namespace gyre
