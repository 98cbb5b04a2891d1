// gyre bench allreduce: measures the time of gradient all-reduce for several sizes, under mpirun.
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/parallel/parallel_options.h"
#include "tools/bench/all_reduce.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {
namespace {

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
