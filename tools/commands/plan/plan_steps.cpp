#include "tools/commands/plan/plan_steps.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/counted.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/train/parallel/async_all_reduce.h"
#include "tools/command_line/messages.h"
#include "tools/command_line/option_values.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/gpu/gpu_plan_report.h"
#include "tools/workload/plan.h"
#include "tools/workload/plan_load.h"
#include "tools/workload/training_load.h"

namespace gyre {
namespace {

// Prints a plan for ranks on CPUs, as a table or JSON.
struct PlanReportRow {
  PlanRow plan;
  double tokens = 0;      // of all ranks, per step
  double efficiency = 0;  // tokens per second and rank, relative to one rank
};

Json to_json(const PlanReportRow& row) {
  const PlanRow& plan = row.plan;
  return {{"ranks", plan.ranks},
          {"micro_batches", plan.micro_batches},
          {"memory_mib", rounded(plan.memory() / kMebibyte)},
          {"weights_mib", rounded(plan.weights / kMebibyte)},
          {"gradients_mib", rounded(plan.gradients / kMebibyte)},
          {"optimizer_mib", rounded(plan.state / kMebibyte)},
          {"activations_mib", rounded(plan.activations / kMebibyte)},
          {"step_seconds", rounded(plan.step())},
          {"compute_seconds", rounded(plan.compute)},
          {"optimizer_seconds", rounded(plan.optimizer)},
          {"exchange_seconds", rounded(plan.exchange)},
          {"exposed_seconds", rounded(plan.exposed)},
          {"tokens_per_second", rounded(row.tokens / plan.step())},
          {"efficiency", rounded(row.efficiency)}};
}

void print_rows(const std::vector<PlanReportRow>& rows) {
  std::printf("%6s %12s %10s %10s %12s %12s %12s\n", "ranks", "MiB/rank", "step s", "exchange s", "exposed s",
              "tokens/s", "efficiency");
  for (const PlanReportRow& row : rows) {
    std::printf("%6d %12.0f %10.4g %10.4g %12.4g %12.6g %11.1f%%\n", row.plan.ranks, row.plan.memory() / kMebibyte,
                row.plan.step(), row.plan.exchange, row.plan.exposed, row.tokens / row.plan.step(),
                100 * row.efficiency);
  }
}

constexpr int kMostPlannedRanks = 1'000'000;
constexpr int kMostItemTokens = 1 << 20;  // limit of a sentence or a segment

// The numbers of ranks without those of the default list that training rejects.
std::vector<int> possible_ranks(const PlanArgs& args, const ParallelOptions& options) {
  std::vector<int> ranks = args.ranks;
  if (options.fixes_micro_batches() && !args.table->given("ranks"))
    std::erase_if(ranks, [&](int count) { return count > options.micro_batches_on(count); });
  return ranks;
}

// Says for which numbers of ranks a batch has too few pairs, samples or rows to give every rank one.
void note_idle_ranks(const PlanArgs& args, const PlannedSteps& planned) {
  if (args.weak) return;
  const double items = std::ceil(planned.items_per_step);
  std::vector<std::string> counts;
  for (const PlanRow& row : planned.rows)
    if (row.ranks > items) counts.push_back(std::to_string(row.ranks));
  if (counts.empty()) return;
  print_message(concat("note: a batch has ", counted(int64_t(items), "item"), ": of ", joined(counts), " ranks only ",
                       int64_t(items), items == 1 ? " computes" : " compute", "; a larger batch gives work to all"));
}

PlannedSteps plan_ranks(const PlanArgs& args, const PlanLoad& load, const PlanRates& rates, const TrainOptions& options,
                        int64_t pieces, double sides) {
  const Scaling scaling = args.weak ? Scaling::weak : Scaling::strong;
  const auto row_of = [&](int ranks) {
    return PlanReportRow{plan_step(load, rates, ranks, scaling), tokens_of_step(load, ranks, scaling)};
  };
  const PlanReportRow single = row_of(1);
  const double batch = single.tokens;
  std::vector<PlanReportRow> rows;
  for (const int ranks : possible_ranks(args, options.parallel)) {
    rows.push_back(row_of(ranks));
    rows.back().efficiency =
        rows.back().tokens / rows.back().plan.step() / (single.tokens / single.plan.step()) / ranks;
  }
  const double sent = double(dtype_bytes(parse_comm_dtype(options.parallel.gradient_dtype)));  // bytes per element
  Json summary{{"parameters", load.parameters},
               {"vocabulary", pieces},
               {"tokens_per_step", rounded(batch)},
               {"scaling", args.weak ? "weak: one batch per rank" : "strong: one batch for all ranks"},
               {"threads_per_rank", threads()},
               {"tflop_per_step", rounded(load.flops_per_token * batch / 1e12)},
               {"gradient_mib_per_step", rounded(double(load.parameters) * sent / kMebibyte)},
               {"late_gradient_share", rounded(double(load.last_parameters) / double(load.parameters))},
               {"gflops", rounded(rates.flops / kGiga)},
               {"memory_gb_per_second", rounded(rates.memory / kGiga)},
               {"link_gbit", rounded(rates.link * 8 / kGiga)},
               {"precision", options.device.precision}};
  PlannedSteps planned;
  planned.items_per_step = batch / load.item_tokens;
  for (const PlanReportRow& row : rows) {
    if (args.json) summary["rows"].push_back(to_json(row));
    planned.rows.push_back(row.plan);
    planned.target_tokens.push_back(row.tokens / sides);
  }
  planned.summary = std::move(summary);
  planned.print = [rows] { print_rows(rows); };
  note_idle_ranks(args, planned);
  return planned;
}

// The kind of GPU with the figures that the options replace.
GpuModel with_options(GpuModel model, Precision precision, const PlanArgs& args) {
  if (args.gflops > 0) model.set_products(precision, args.gflops * kGiga);
  if (args.memory_gb > 0) model.copy_bandwidth = args.memory_gb * kGiga;
  if (args.node_link_gb > 0) model.node_link = args.node_link_gb * kGiga;
  if (args.launch_us > 0) model.launch = args.launch_us * 1e-6;
  if (args.table->given("link-gbit")) model.network = args.link_gbit * kGiga / 8;
  if (args.table->given("latency-us")) model.network_latency = args.latency_us * 1e-6;
  model.node_gpus = args.gpus_per_node;
  return model;
}

// How gradients get to other GPUs.
std::string exchange_text(const GpuJob& job) {
  return job.load.parallel.deterministic ? "through the memory of the CPU, because of --deterministic"
                                         : "from GPU to GPU by NCCL";
}

PlannedSteps plan_gpu_ranks(const PlanArgs& args, const GpuJob& job, const GpuModel& model, int64_t pieces,
                            double sides) {
  const std::vector<GpuPlanRow> rows = plan_gpus(job, model, possible_ranks(args, job.load.parallel));
  Json summary{{"device", model.name},
               {"precision", precision_name(job.precision)},
               {"parameters", job.load.parameters},
               {"vocabulary", pieces},
               {"tokens_per_step", rounded(rows.front().tokens)},
               {"scaling", args.weak ? "weak: one batch per GPU" : "strong: one batch for all GPUs"},
               {"exchange", exchange_text(job)},
               {"gpus", rows.front().plan.ranks}};
  summary.update(step_json(rows.front(), model, job.precision));
  if (args.json) {
    summary["rows"] = to_json(rows);
    summary["work"] = to_json(rows.front().forecast);
    summary["assumptions"] = model.assumptions();
  }
  PlannedSteps planned;
  planned.items_per_step = rows.front().tokens / job.load.item_tokens;
  for (const GpuPlanRow& row : rows) {
    planned.rows.push_back(row.plan);
    planned.target_tokens.push_back(row.tokens / sides);
  }
  planned.summary = std::move(summary);
  planned.assumptions = model.assumptions();
  planned.print = [rows, job] {
    print_rows(rows, job);
    print_forecast(rows.front().forecast);
  };
  note_idle_ranks(args, planned);
  return planned;
}

}  // namespace

int64_t PlanArgs::pieces(const Path& vocabulary) const {
  if (table->given("vocab-size") || vocabulary.empty()) {
    expect_vocabulary(vocabulary_size);
    return vocabulary_size;
  }
  if (!std::filesystem::exists(vocabulary))
    throw UsageError("--vocab: ", vocabulary.string(), " does not exist; use --vocab-size instead");
  return load_vocabulary(vocabulary)->size();
}

void PlanArgs::check(int max_length) const {
  for (const int count : ranks) expect_between(1, kMostPlannedRanks, "--ranks", count);
  expect(std::isfinite(link_gbit) && link_gbit > 0, "--link-gbit", "a number above 0", link_gbit);
  expect_finite_at_least(0, "--latency-us", latency_us);
  expect_finite_at_least(0, "--gflops", gflops);
  expect_finite_at_least(0, "--memory-gb", memory_gb);
  expect_between(2, kMostItemTokens, "--sentence-length", sentence_length);
  expect_between(1, kMostItemTokens, "--max-length", max_length);
  expect_at_least(1, "--gpus-per-node", gpus_per_node);
  expect_finite_at_least(0, "--node-link-gb", node_link_gb);
  expect_finite_at_least(0, "--launch-us", launch_us);
}

PlannedSteps plan_steps(const PlanArgs& args, const TrainOptions& options, int64_t pieces,
                        const PlannedBatches& batches) {
  args.check(options.data.max_length);
  const GpuModel* const gpu = planned_gpu(options.device.name);
  TrainOptions checked = options;
  if (gpu) checked.device.name = "cuda";
  checked.validate_update();
  if (args.table->given_as("model"))
    throw UsageError("--model would have no effect: --config ", (options.start.directory / "train.toml").string(),
                     " plans with the options of a run");
  if (options.device.threads > 0) set_threads(options.device.threads);
  // An error is the only line that a call prints, so these come before the note of a measurement.
  PlanLoad batch;
  batch.parallel = options.parallel;
  for (const int ranks : possible_ranks(args, options.parallel)) share_of_rank(batch, ranks, Scaling::strong);
  if (!gpu) {
    PlanRates given;
    given.flops = args.gflops * kGiga;
    given.memory = args.memory_gb * kGiga;
    given.link = args.link_gbit * kGiga / 8;
    given.latency = args.latency_us * 1e-6;
    const MachineLoad machine = machine_load(batches.make, options, batches.item_tokens, batches.sides, given);
    return plan_ranks(args, machine.load, machine.rates, options, pieces, batches.sides);
  }
  const Precision precision = parse_precision(options.device.precision, virtual_kernels());
  std::unique_ptr<Workload> work = batches.make(measured_items(batches.item_tokens), kVirtualGpu);
  const PlanLoad load =
      training_load(*work, options, virtual_kernels(), kVirtualGpu, precision, batches.item_tokens, batches.sides);
  work.reset();  // plan_gpus() needs all memory of the virtual GPU
  const auto make = [&](int items, Device device) {
    std::unique_ptr<Workload> made = batches.make(items, device);
    made->set_recompute(options.device.recompute);
    return made;
  };
  const GpuJob job{load, make, options.optimizer, precision, args.weak ? Scaling::weak : Scaling::strong};
  return plan_gpu_ranks(args, job, with_options(*gpu, precision, args), pieces, batches.sides);
}

}  // namespace gyre
