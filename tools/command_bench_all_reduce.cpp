// gyre bench allreduce, under mpirun: how long gradients of some sizes take from rank to rank.
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/bench/all_reduce.h"
#include "tools/facts.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct AllReduce {
  AllReduceBench bench;
  std::string wire = "fp32";
  int zero = 0;
  bool json = false;
};

int measure(AllReduce& call) {
  for (const double megabytes : call.bench.megabytes)
    if (megabytes <= 0 || megabytes > 1024)
      throw UsageError("--sizes: expected more than 0 and at most 1024 MiB, got ", megabytes);
  if (call.bench.repetitions < 1) throw UsageError("--steps: expected at least 1, got ", call.bench.repetitions);
  return with_communicator(nullptr, nullptr, [&](Communicator& ranks) {
    call.bench.sum = {.wire = wire_type(call.wire), .sharded = call.zero == 1};
    const AllReduceReport report = run_all_reduce_bench(ranks, call.bench);
    if (ranks.rank() != 0) return 0;
    nlohmann::ordered_json facts{{"communicator", ranks.name()}};
    facts.update(to_json(report));
    if (call.json) facts["rows"] = rows_json(report);
    print_facts(facts, call.json);
    if (!call.json) print_rows(report);
    return 0;
  });
}

}  // namespace

void add_bench_all_reduce_command(Program& program) {
  auto call = std::make_shared<AllReduce>();
  OptionTable& table = program.command("bench allreduce", "under mpirun: sums of gradients over the ranks, by size",
                                       [call] { return measure(*call); });
  table.add_list("--sizes", call->bench.megabytes, "MIB,...", "of fp32 gradients");
  table.add_choice("--gradient-dtype", call->wire, {"fp32", "bf16"}, "that travels");
  table.add("--zero", call->zero, "STAGE", "1: each rank gets the sums of its own share");
  table.add("--steps", call->bench.repetitions, "NUMBER",
            "sums of each size, after one that warms up; the median counts");
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
