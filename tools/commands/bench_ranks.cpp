// gyre bench ranks: which division of a machine's cores into ranks and threads trains fastest.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/parallel/launcher.h"
#include "gyre/train/parallel/mpi_support.h"
#include "tools/bench/ranks.h"
#include "tools/bench/step_presets.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct RanksArgs {
  RanksBench bench;
  bool json = false;
};

void check(RanksBench& bench) {
  expect_at_least(1, "--steps", bench.steps);
  expect_at_least(1, "--turns", bench.turns);
  if (launch_of_process().has_mpi)
    throw UsageError("[bench ranks] starts mpirun itself: run it without mpirun or srun, on one machine");
  if (mpi_library() == "none") throw UsageError("[bench ranks] this build has no MPI (GYRE_MPI=OFF)");
  bench.machine = parts_of_machine();
  if (bench.machine.cores == 1)
    throw UsageError("[bench ranks] this process may use one core only: there is nothing to divide");
}

int measure(RanksArgs& args) {
  check(args.bench);
  const std::vector<RanksRow> rows =
      run_ranks_bench(args.bench, std::filesystem::read_symlink("/proc/self/exe").string());
  const RanksRow& best = *std::max_element(rows.begin(), rows.end(), [](const RanksRow& a, const RanksRow& b) {
    return a.tokens_per_second < b.tokens_per_second;
  });
  Json summary{{"preset", args.bench.preset},
               {"precision", args.bench.precision},
               {"cores", args.bench.machine.cores},
               {"numa_nodes", args.bench.machine.numa_nodes},
               {"sockets", args.bench.machine.sockets}};
  if (args.json) summary["rows"] = rows_json(rows);
  summary["command"] = concat(command_of(best, args.bench.mpirun, "gyre"), " train ... --threads ", best.threads);
  if (!args.json) print_rows(rows);
  print_summary(summary, args.json);
  return 0;
}

}  // namespace

void add_bench_ranks_command(Program& program) {
  auto args = std::make_shared<RanksArgs>();
  OptionTable& table =
      program.command("bench ranks", "training steps by ranks, threads and binding; prints the command to use",
                      [args] { return measure(*args); });
  table.add_choice("--preset", args->bench.preset, step_presets(), "model and batch size of each rank");
  table.add_choice("--precision", args->bench.precision, {"fp32", "bf16", "auto"},
                   "precision of activations and matrix products");
  table.add("--steps", args->bench.steps, "NUMBER", "measured steps, after two warm-up steps");
  table.add("--turns", args->bench.turns, "NUMBER", "runs of every division, taking turns; the median is reported");
  table.add("--mpirun", args->bench.mpirun, "PROGRAM", "mpirun of Open MPI, or a script that calls it");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
