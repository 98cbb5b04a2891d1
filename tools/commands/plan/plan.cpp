// gyre plan TASK: estimates memory, time and scaling of a training job. Takes the options of gyre train. The cost of
// the model is predicted, for the CPU of this machine from a few measured products, or for GPUs of a kind (--device
// h200); on a GPU of this machine it is measured. The speed of the link is given by options.
#include "tools/workload/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/option_values.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/log/console.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/all_reduce.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tools/command_line/messages.h"
#include "tools/command_line/option_table.h"
#include "tools/options/model_options.h"
#include "tools/options/train_options.h"
#include "tools/program.h"
#include "tools/summary.h"
#include "tools/workload/gpu_plan.h"
#include "tools/workload/training_load.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

// ---- The steps of a training run -----------------------------------------------------------------------------------
// Plans the steps of a training run, or of one of its stages: measured on this machine, or predicted for GPUs of a
// kind.

// The options of gyre plan besides those of training.
struct PlanArgs {
  std::vector<int> ranks{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  int64_t vocabulary_size = 32000;  // if there is no --vocab
  int sentence_length = 30;
  uint64_t epoch_items = 0;  // pairs, samples or rows of an epoch; 0: unknown
  double link_gbit = 10, latency_us = 30;
  double gflops = 0, memory_gb = 0;
  int gpus_per_node = 8;
  double node_link_gb = 0, launch_us = 0;
  bool weak = false;
  bool json = false;
  const OptionTable* table = nullptr;

  // The size of the vocabulary, from --vocab-size or from the file --vocab.
  int64_t pieces(const Path& vocabulary) const;
  // Throws a UsageError if an option is out of range. `max_length`: of the training samples.
  void check(int max_length) const;
};

// The predicted steps, a row for each number of ranks, and how to show them.
struct PlannedSteps {
  std::vector<PlanRow> rows;
  double items_per_step = 1;               // pairs, samples or rows of the global batch of the first row
  std::vector<double> target_tokens{};     // tokens of a global batch, for each row
  Json summary;                            // figures of the first row; with args.json also all rows
  std::function<void()> print;             // prints the rows as a table
  std::vector<std::string> assumptions{};  // figures that were not measured
};

// The batches to plan for. make(items, device): creates the workload of a batch of `items` items, each with
// `item_tokens` tokens on all `sides` sides.
struct PlannedBatches {
  double item_tokens = 1, sides = 1;
  MakeBatch make;
};

// Prints a plan for ranks on CPUs, as a table or JSON.
struct PlanReportRow {
  PlanRow plan;
  double tokens = 0;      // tokens of all ranks, per step
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
  const double sent = double(dtype_bytes(dtype_of(options.parallel.gradient_dtype)));  // bytes per element
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
               {"precision", options.device.precision ? enum_name(*options.device.precision) : "auto"}};
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
               {"precision", enum_name(job.precision)},
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

// pieces: the size of the vocabulary of the model that batches.make() creates.
// Throws a UsageError for options that cannot be planned.
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
  const GpuJob job =
      gpu_job(batches.make, options, batches.item_tokens, batches.sides, args.weak ? Scaling::weak : Scaling::strong);
  return plan_gpu_ranks(args, job, with_options(*gpu, job.precision, args), pieces, batches.sides);
}

// The time and the memory of a whole run, from the steps that are planned for each of its stages.
class PlanTotals {
 public:
  // Adds a stage. `steps`: a row for each number of ranks. `updates`: for each row; with weak scaling, a number of
  // tokens takes fewer updates on more ranks. Throws an Error if the number of rows differs from that of the stages
  // before.
  void add(const std::vector<PlanRow>& steps, const std::vector<uint64_t>& updates);
  Json json() const;
  void print(const char* unit) const;  // unit: "ranks" or "GPUs"

 private:
  struct Total {
    int ranks = 1;
    uint64_t updates = 0;
    double memory = 0;   // bytes per rank, in the stage that needs most
    double seconds = 0;  // time of all updates, without validation and saving
  };

  // The number of updates, if it is the same for all rows.
  std::optional<uint64_t> common_updates() const;

  std::vector<Total> totals_;
};

void PlanTotals::add(const std::vector<PlanRow>& steps, const std::vector<uint64_t>& updates) {
  if (totals_.empty()) totals_.resize(steps.size());
  require(totals_.size() == steps.size() && updates.size() == steps.size(), "[plan] expected ", totals_.size(),
          " numbers of ranks in every stage, got ", steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Total& total = totals_[i];
    total.ranks = steps[i].ranks;
    total.updates += updates[i];
    total.memory = std::max(total.memory, steps[i].memory());
    total.seconds += double(updates[i]) * steps[i].step();
  }
}

std::optional<uint64_t> PlanTotals::common_updates() const {
  const uint64_t first = totals_.front().updates;
  const bool same = std::ranges::all_of(totals_, [first](const Total& total) { return total.updates == first; });
  return same ? std::optional(first) : std::nullopt;
}

Json PlanTotals::json() const {
  Json run = Json::object();
  if (const auto updates = common_updates()) run["updates"] = *updates;
  for (const Total& total : totals_) {
    run["rows"].push_back({{"ranks", total.ranks},
                           {"updates", total.updates},
                           {"memory_mib", rounded(total.memory / kMebibyte)},
                           {"hours", rounded(total.seconds / 3600)}});
  }
  return run;
}

void PlanTotals::print(const char* unit) const {
  const auto updates = common_updates();
  std::printf("\nthe whole run: %s, without validation and saving\n",
              updates ? counted(*updates, "update").c_str() : "fewer updates on more ranks");
  std::printf("%6s %12s %12s %16s %14s\n", unit, "updates", "MiB each", "time", concat(unit, " x days").c_str());
  for (const Total& total : totals_) {
    std::printf("%6d %12s %12.0f %16s %14.3g\n", total.ranks, std::to_string(total.updates).c_str(),
                total.memory / kMebibyte, format_duration(total.seconds).c_str(), total.seconds * total.ranks / 86400);
  }
}

// The figures behind a plan for GPUs, none of which was measured.
void print_assumptions(const std::vector<std::string>& assumptions) {
  if (assumptions.empty()) return;
  std::cout << "\nNothing of this was measured. The figures behind it:\n";
  for (const std::string& line : assumptions) std::cout << "  " << line << '\n';
}

const char* rank_word(const std::string& device) { return planned_gpu(device) != nullptr ? "GPUs" : "ranks"; }

// Only the sum over a run reads --epoch-items.
void check_epoch_items(const PlanArgs& args, const TrainOptions& options) {
  args.table->reject_unused("epoch-items", options.stop.after.unit == Period::Unit::epochs,
                            "--after is not a number of epochs");
  args.table->reject_unused("epoch-items", !args.weak, "with --weak, the updates of an epoch depend on the ranks");
}

// Call it once the options have been checked: an error is the only line that a call prints.
void print_notes(const PlanArgs& args) {
  for (const std::string& note : args.table->notes()) print_message(note);
}

// The number of updates of the run for each row; empty if it is unknown.
std::vector<uint64_t> updates_of_run(const PlanArgs& args, const TrainOptions& options, const PlannedSteps& planned) {
  const Period& after = options.stop.after;
  std::vector<uint64_t> updates;
  for (const double tokens : planned.target_tokens) {
    const uint64_t of_row =
        after.unit == Period::Unit::target_tokens
            ? uint64_t(std::ceil(double(after.amount) / tokens))
            : after.in_updates(uint64_t(std::ceil(double(args.epoch_items) / planned.items_per_step)));
    if (of_row == 0) return {};
    updates.push_back(of_row);
  }
  return updates;
}

// Says why there is no sum over the run.
void print_unknown_end(const PlanArgs& args, const TrainOptions& options) {
  const bool in_epochs = options.stop.after.amount > 0 && options.stop.after.unit == Period::Unit::epochs;
  const bool is_zero =
      in_epochs ? args.table->given("epoch-items") : args.table->given("after") || args.table->given("after-epochs");
  print_message(concat("note: the time of the whole run needs ", is_zero ? "a positive " : "",
                       in_epochs ? "--epoch-items, because --after is in epochs"
                                 : "--after, such as 100Ku (updates) or 20Gt (target tokens)"));
}

// Plans a run without stages. plan(): its steps.
template <class Plan>
int report(const PlanArgs& args, const TrainOptions& options, Plan&& plan) {
  check_epoch_items(args, options);
  PlannedSteps planned = plan();
  print_notes(args);
  PlanTotals totals;
  const std::vector<uint64_t> updates = updates_of_run(args, options, planned);
  const bool has_end = !updates.empty();
  if (has_end) totals.add(planned.rows, updates);
  if (has_end && args.json) planned.summary["run"] = totals.json();
  print_summary(planned.summary, args.json);
  if (!has_end) print_unknown_end(args, options);
  if (args.json) return 0;
  planned.print();
  if (has_end) totals.print(rank_word(options.device.name));
  print_assumptions(planned.assumptions);
  return 0;
}

// Plans a run stage by stage, and adds the stages up. plan_stage(options of the stage): its steps.
template <class PlanStage>
int report_stages(const PlanArgs& args, const LanguageOptions& options, PlanStage&& plan_stage) {
  check_epoch_items(args, options);
  const std::vector<RunStage> stages = run_stages(options);
  PlanTotals totals;
  Json summary{{"stages", Json::array()}};
  std::vector<std::string> assumptions;
  for (size_t i = 0; i < stages.size(); ++i) {
    PlannedSteps planned = plan_stage(options_of_stage(options, options.stages[i]));
    if (i == 0) print_notes(args);
    totals.add(planned.rows, std::vector<uint64_t>(planned.rows.size(), stages[i].updates));
    assumptions = planned.assumptions;
    Json head{{"stage", concat(i + 1, " of ", stages.size())},
              {"updates", stages[i].updates},
              {"max_length", stages[i].max_length}};
    head.update(planned.summary);
    if (args.json) {
      summary["stages"].push_back(head);
      continue;
    }
    if (i > 0) std::cout << '\n';
    print_summary(head, false);
    planned.print();
  }
  if (args.json) {
    summary["run"] = totals.json();
    print_summary(summary, true);
    return 0;
  }
  totals.print(rank_word(options.device.name));
  print_assumptions(assumptions);
  return 0;
}

void add_plan_rows(OptionTable& table, PlanArgs& args) {
  args.table = &table;
  table.describe_again("device",
                       concat("kind of the GPUs to plan for: ", joined(gpu_model_names(), ", "),
                              "; cpu: this machine, whose matrix products and memory are measured for seconds; cuda or "
                              "cuda:N: measure the model on this GPU"));
  table.group("Plan");
  table.add_list("--ranks,--gpus", args.ranks, "NUMBER,...",
                 "numbers of ranks to plan for: of --cpu-threads threads, or of one GPU each");
  table.add("--epoch-items", args.epoch_items, "NUMBER",
            "pairs, samples or rows of the training data, to add up the time of a run whose --after is in epochs");
  table.add("--vocab-size", args.vocabulary_size, "PIECES", "size of the vocabulary; default: the size of --vocab");
  table.add("--link-gbit", args.link_gbit, "GBIT", "link rate of a rank in Gbit/s (see gyre bench allreduce)");
  table.add("--latency-us", args.latency_us, "MICROSECONDS", "latency of a message (see gyre bench allreduce)");
  table.add(
      "--gflops", args.gflops, "GFLOP/S",
      "compute rate of a rank in training steps, or of a GPU in large matrix products of --precision; 0: measure it "
      "here, or assume that of the GPU");
  table.add("--memory-gb", args.memory_gb, "GB/S",
            "memory bandwidth of a rank; 0: measure it here, or assume that of the GPU");
  table.add("--gpus-per-node", args.gpus_per_node, "NUMBER", "for --device h200, h100 or a100: GPUs of a node");
  table.add("--node-link-gb", args.node_link_gb, "GB/S",
            "likewise: rate between GPUs of a node in each direction; 0: of the data sheet");
  table.add("--launch-us", args.launch_us, "MICROSECONDS", "likewise: host time per launch of a kernel; 0: assumed");
  table.add_flag("--weak", args.weak, "weak scaling: every rank has a batch of the given size instead of a part of it");
  table.add_flag("--json", args.json, "print one JSON object");
  for (const char* name : {"model", "train-sets", "vocab"}) table.required(name, false);
  // Replaces the common options of training by those that affect the plan.
  table.set_common(split_list(
      {"config,task,preset,architecture,dim-emb,enc-depth,dec-depth,layers,position,attention,vocab,max-length",
       "mini-batch-words,mini-batch,optimizer-delay,zero,gradient-dtype,after,device,precision,cpu-threads,ranks",
       "vocab-size,epoch-items,sentence-length,link-gbit,latency-us,gflops,memory-gb,gpus-per-node,node-link-gb",
       "launch-us,weak,json"}));
}

void reject_adapters(const LoraOptions& lora) {
  expect(lora.rank == 0, "--lora-rank", "0, because gyre plan plans the training of all weights", lora.rank);
}

struct PlanNmtArgs : PlanArgs {
  NmtOptions train;
  ModelArgs model;
};

void add_nmt(Program& program) {
  auto args = std::make_shared<PlanNmtArgs>();
  OptionTable& table = program.command("plan nmt", "plan the training of a translation model", [args] {
    reject_adapters(args->train.lora);
    use_pretrained_vocabulary(args->train.pretrained_model, args->train);
    const DataOptions& data = args->train.data;
    args->model.config.vocab_size = args->pieces(data.vocabulary);
    if (!data.vocabulary.empty() && !args->table->given("vocab-size"))
      set_vocabulary_sizes(args->model.config, *load_vocabulary(data.vocabulary, data.target_vocabulary));
    validate_model(*args->table, [&] { args->model.config.validate(); });
    expect_finite_at_least(0, "--r-drop", args->train.r_drop);
    const double pair = 2.0 * args->sentence_length;
    const auto make = [&](int items, Device device) {
      return translation_workload(args->model.config, items, args->sentence_length, {device}, args->train.r_drop);
    };
    return report(*args, args->train, [&] {
      return plan_steps(*args, args->train, args->model.config.vocab_size, {pair, 2, make});
    });
  });
  table.accept_config_files();
  add_model_options(table, args->model);
  add_nmt_options(table, args->train, args->model.config);
  add_plan_rows(table, *args);
  table.add("--sentence-length", args->sentence_length, "TOKENS", "average length of a sentence");
}

template <class Options>
struct PlanLanguage : PlanArgs {
  explicit PlanLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderArgs model;

  int run(bool causal) {
    model.config.causal = model.config.causal || causal;
    set_optimizer_defaults(*table, train.optimizer);
    reject_adapters(train.lora);
    use_pretrained_vocabulary(train.pretrained_model, train);
    model.config.vocab_size = pieces(train.data.vocabulary);
    validate_model(*table, [&] { model.config.validate(); });
    require_positions(train, EncoderOnly(model.config).longest());
    const auto plan_for = [&](const LanguageOptions& options) {
      const int length = options.data.max_length;
      const auto make = [&, length](int items, Device device) {
        return language_workload(model.config, items, length, {device});
      };
      return plan_steps(*this, options, model.config.vocab_size, {double(length), 1, make});
    };
    if (!train.stages.empty()) return report_stages(*this, train, plan_for);
    return report(*this, train, [&] { return plan_for(train); });
  }
};

template <class Options>
void add_language(Program& program, const std::string& words, const std::string& help, const std::string& preset,
                  const std::vector<std::string>& presets) {
  constexpr bool kCausal = std::is_same_v<Options, LanguageOptions>;
  auto args = std::make_shared<PlanLanguage<Options>>(preset);
  if constexpr (kCausal) args->train.optimizer = causal_optimizer();
  OptionTable& table = program.command(words, help, [args] { return args->run(kCausal); });
  table.accept_config_files();
  add_encoder_options(table, args->model, "--preset,--task,--arch", presets);
  add_language_options(table, args->train, args->model.config);
  add_plan_rows(table, *args);
}

// A task with a classification head on encoded rows of --max-length tokens.
template <class Task>
struct PlanFineTuning : PlanArgs {
  template <class... Args>
  explicit PlanFineTuning(Args... args) : task(args...) {}
  Task task;
  EncoderArgs model{"roformer-mini"};

  // outputs: of the head. rows: of an item of a batch.
  int run(const FineTuningOptions& train, int64_t outputs, int rows) {
    reject_pretrained_options(*table, train);
    table->reject_unused("vocab", train.pretrained_model.empty(), "--pretrained-model has its own vocabulary");
    EncoderOnlyConfig encoder = initial_encoder(train, model.config).config;
    if (train.pretrained_model.empty() || table->given("vocab-size"))
      encoder.vocab_size = pieces(train.data.vocabulary);
    const ClassifierConfig config = classifier_config(train, encoder, outputs);
    validate_model(*table, [&] { config.validate(); });
    const int length = train.data.max_length;
    require_positions(length, EncoderOnly(encoder).longest());
    const auto make = [&](int items, Device device) {
      return classification_workload(config, items * rows, length, {device});
    };
    return report(*this, train, [&] {
      return plan_steps(*this, train, encoder.vocab_size, {double(length) * rows, 1, make});
    });
  }
};

using PlanClassify = PlanFineTuning<ClassifyArgs>;

int64_t outputs_of(const ClassifyArgs& task) {
  if (task.kind == TextTaskKind::regress) return 1;
  return std::max<int64_t>(2, int64_t(task.train.format.classes.size()));
}

void add_classify(Program& program, TextTaskKind kind, const std::string& help) {
  auto args = std::make_shared<PlanClassify>(kind);
  OptionTable& table = program.command(concat("plan ", enum_name(kind)), help,
                                       [args] { return args->run(args->task.train, outputs_of(args->task), 1); });
  table.accept_config_files();
  add_classify_options(table, args->task);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
  add_plan_rows(table, *args);
}

// A triplet is two pairs of texts.
void add_match(Program& program) {
  auto args = std::make_shared<PlanFineTuning<MatchOptions>>();
  OptionTable& table = program.command("plan match", "plan the fine-tuning of an encoder to match texts",
                                       [args] { return args->run(args->task, 1, 2); });
  table.accept_config_files();
  add_match_options(table, args->task);
  add_encoder_options(table, args->model, "--architecture", encoder_presets());
  add_plan_rows(table, *args);
}

}  // namespace

void add_plan_commands(Program& program) {
  program.describe_group("plan", "estimate memory, time and scaling of a training job");
  add_nmt(program);
  add_language<MaskedOptions>(program, "plan mlm", "plan the training of a masked language model", "roformer-mini",
                              encoder_presets());
  add_language<LanguageOptions>(program, "plan lm", "plan the training of a causal language model", "lm-tiny",
                                EncoderOnlyConfig::preset_names());
  add_classify(program, TextTaskKind::classify, "plan the fine-tuning of an encoder to classify texts");
  add_classify(program, TextTaskKind::regress, "plan the fine-tuning of an encoder for regression");
  add_classify(program, TextTaskKind::pair, "plan the fine-tuning of an encoder to classify pairs of texts");
  add_match(program);
}

}  // namespace gyre
