// gyre plan nmt|mlm|lm: estimates memory, time and scaling of a training job. Takes the options of gyre train. The cost
// of the model is measured on this machine, or predicted for GPUs of a kind (--device h200); the speed of the link is
// given by options.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/parallel/async_all_reduce.h"
#include "tools/command_line/foreign_options.h"
#include "tools/commands/plan_report.h"
#include "tools/options/model_options.h"
#include "tools/options/tasks/encoder_options.h"
#include "tools/options/tasks/language_options.h"
#include "tools/options/tasks/nmt_options.h"
#include "tools/print_summary.h"
#include "tools/program.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/gpu/gpu_plan_report.h"
#include "tools/workload/plan_load.h"
#include "tools/workload/training_load.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

constexpr double kGiga = 1e9;
constexpr int kMostRanks = 1'000'000;
constexpr int kMostItemTokens = 1 << 20;  // of a sentence or a segment

struct Plan {
  std::vector<int> ranks{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  int64_t vocabulary_size = 32000;  // if there is no --vocab
  int sentence_length = 30;
  double link_gbit = 10, latency_us = 30;
  double gflops = 0, memory_gb = 0;
  int gpus_per_node = 8;
  double node_link_gb = 0, launch_us = 0;
  bool weak = false;
  bool json = false;
  const OptionTable* table = nullptr;

  // The size of the vocabulary, from --vocab-size or from the file --vocab.
  int64_t pieces(const Path& vocabulary) const {
    if (table->given("vocab-size") || vocabulary.empty()) {
      expect_vocabulary(vocabulary_size);
      return vocabulary_size;
    }
    if (!std::filesystem::exists(vocabulary))
      throw UsageError("--vocab: ", vocabulary.string(), " does not exist; use --vocab-size instead");
    return load_vocabulary(vocabulary)->size();
  }
};

int report(const Plan& args, const PlanLoad& load, const PlanRates& rates, const TrainOptions& options,
           int64_t pieces) {
  const Scaling scaling = args.weak ? Scaling::weak : Scaling::strong;
  const auto row_of = [&](int ranks) {
    return PlanReportRow{plan_step(load, rates, ranks, scaling), tokens_of_step(load, ranks, scaling)};
  };
  const PlanReportRow single = row_of(1);
  const double batch = single.tokens;
  std::vector<PlanReportRow> rows;
  for (const int ranks : args.ranks) {
    rows.push_back(row_of(ranks));
    rows.back().efficiency =
        rows.back().tokens / rows.back().plan.step() / (single.tokens / single.plan.step()) / ranks;
  }
  const double sent = double(dtype_bytes(parse_comm_dtype(options.parallel.gradient_dtype)));  // bytes per element
  ordered_json summary{{"parameters", load.parameters},
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
  for (const PlanReportRow& row : rows) {
    if (args.json) summary["rows"].push_back(to_json(row));
  }
  print_summary(summary, args.json);
  if (!args.json) print_rows(rows);
  return 0;
}

void check(const Plan& args, const DataOptions& data) {
  const char* const flag = args.table->given_as("gpus") ? "--gpus" : "--ranks";
  for (const int ranks : args.ranks) expect_between(1, kMostRanks, flag, ranks);
  expect(std::isfinite(args.link_gbit) && args.link_gbit > 0, "--link-gbit", "a number above 0", args.link_gbit);
  expect_finite_at_least(0, "--latency-us", args.latency_us);
  expect_finite_at_least(0, "--gflops", args.gflops);
  expect_finite_at_least(0, "--memory-gb", args.memory_gb);
  expect_between(2, kMostItemTokens, "--sentence-length", args.sentence_length);
  expect_between(1, kMostItemTokens, "--max-length", data.max_length);
  expect_at_least(1, "--gpus-per-node", args.gpus_per_node);
  expect_finite_at_least(0, "--node-link-gb", args.node_link_gb);
  expect_finite_at_least(0, "--launch-us", args.launch_us);
}

// The numbers of ranks without those of the default list that training rejects.
std::vector<int> possible_ranks(const Plan& args, const ParallelOptions& options) {
  std::vector<int> ranks = args.ranks;
  if (options.fixes_micro_batches() && !args.table->given("ranks"))
    std::erase_if(ranks, [&](int count) { return count > options.micro_batches_on(count); });
  return ranks;
}

// The kind of GPU with the figures that the options replace.
GpuModel with_options(GpuModel model, Precision precision, const Plan& args) {
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

int report_gpus(const Plan& args, const GpuJob& job, const GpuModel& model, int64_t pieces) {
  const std::vector<GpuPlanRow> rows = plan_gpus(job, model, args.ranks);
  ordered_json summary{{"device", model.name},
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
  print_summary(summary, args.json);
  if (args.json) return 0;
  print_rows(rows, job);
  print_forecast(rows.front().forecast);
  std::cout << "\nNothing of this was measured. The figures behind it:\n";
  for (const std::string& line : model.assumptions()) std::cout << "  " << line << '\n';
  return 0;
}

// config: includes the size of the vocabulary. make(items, device): creates the workload of a batch of `items` items,
// each with `item_tokens` tokens on all sides.
template <class Make>
int plan(Plan args, const TrainOptions& options, const ModelConfig& config, double item_tokens, double sides,
         Make&& make) {
  check(args, options.data);
  const GpuModel* const gpu = planned_gpu(options.device.name);
  TrainOptions checked = options;
  if (gpu) checked.device.name = "cuda";
  checked.validate_update();
  args.ranks = possible_ranks(args, options.parallel);
  if (args.table->given_as("model"))
    throw UsageError("--model would have no effect: --config ", (options.start.directory / "train.toml").string(),
                     " plans with the options of a run");
  for (const std::string& note : foreign_notes(*args.table)) std::cerr << note << '\n';
  if (options.device.threads > 0) set_threads(options.device.threads);
  Kernels& kernels = gpu ? virtual_kernels() : kernels_on(parse_device(options.device.name, 0));
  const Precision precision = parse_precision(options.device.precision, kernels);
  std::unique_ptr<Workload> work = make(measured_items(item_tokens), kernels.device());
  const PlanLoad load = training_load(*work, options, kernels, precision, item_tokens, sides);
  if (gpu) {
    work.reset();  // plan_gpus() needs all memory of the virtual GPU
    const GpuJob job{load, make, options.optimizer, precision, args.weak ? Scaling::weak : Scaling::strong};
    return report_gpus(args, job, with_options(*gpu, precision, args), config.vocab_size);
  }
  PlanRates rates = measure_rates(*work, work->parameters(), kernels, precision);
  if (args.gflops > 0) rates.flops = args.gflops * kGiga;
  if (args.memory_gb > 0) rates.memory = args.memory_gb * kGiga;
  rates.link = args.link_gbit * kGiga / 8;
  rates.latency = args.latency_us * 1e-6;
  return report(args, load, rates, options, config.vocab_size);
}

void add_plan_rows(OptionTable& table, Plan& args) {
  args.table = &table;
  table.describe_again("device", concat("kind of the GPUs to plan for: ", joined(gpu_model_names(), ", "),
                                        "; cpu, cuda or cuda:N: measure the model on this machine"));
  table.group("Plan");
  table.add_list("--ranks,--gpus", args.ranks, "NUMBER,...",
                 "numbers of ranks to plan for: of --cpu-threads threads, or of one GPU each");
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
      {"config,task,preset,dim-emb,enc-depth,dec-depth,layers,position,attention,vocab,max-length,mini-batch-words",
       "mini-batch,optimizer-delay,zero,gradient-dtype,device,precision,cpu-threads,ranks,vocab-size,sentence-length",
       "link-gbit,latency-us,gflops,memory-gb,gpus-per-node,node-link-gb,launch-us,weak,json"}));
}

struct PlanNmtArgs : Plan {
  NmtOptions train;
  ModelArgs model;
};

void add_nmt(Program& program) {
  auto args = std::make_shared<PlanNmtArgs>();
  OptionTable& table = program.command("plan nmt", "plan the training of a translation model", [args] {
    args->model.config.vocab_size = args->pieces(args->train.data.vocabulary);
    as_usage_error([&] { args->model.config.validate(); });
    expect_finite_at_least(0, "--r-drop", args->train.r_drop);
    const double pair = 2.0 * args->sentence_length;
    return plan(*args, args->train, args->model.config, pair, 2, [&](int items, Device device) {
      return translation_workload(args->model.config, items, args->sentence_length, {device}, args->train.r_drop);
    });
  });
  table.accept_config_files();
  add_model_options(table, args->model);
  add_nmt_options(table, args->train);
  add_plan_rows(table, *args);
  table.add("--sentence-length", args->sentence_length, "TOKENS", "average length of a sentence");
}

template <class Options>
struct PlanLanguage : Plan {
  explicit PlanLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderArgs model;

  int run(bool causal) {
    model.config.causal = model.config.causal || causal;
    model.config.vocab_size = pieces(train.data.vocabulary);
    as_usage_error([&] { model.config.validate(); });
    return plan(*this, train, model.config, train.data.max_length, 1, [&](int items, Device device) {
      return language_workload(model.config, items, train.data.max_length, {device});
    });
  }
};

template <class Options>
void add_language(Program& program, const std::string& words, const std::string& help, const std::string& preset,
                  const std::vector<std::string>& presets, void (*add_options)(OptionTable&, Options&)) {
  constexpr bool kCausal = std::is_same_v<Options, LanguageOptions>;
  auto args = std::make_shared<PlanLanguage<Options>>(preset);
  OptionTable& table = program.command(words, help, [args] { return args->run(kCausal); });
  table.accept_config_files();
  add_encoder_options(table, args->model, "--preset,--task,--arch", presets);
  add_options(table, args->train);
  add_plan_rows(table, *args);
}

}  // namespace

void add_plan_commands(Program& program) {
  program.describe_group("plan", "estimate memory, time and scaling of a training job");
  add_nmt(program);
  add_language<MaskedOptions>(program, "plan mlm", "plan the training of a masked language model", "roformer-mini",
                              encoder_presets(), add_masked_options);
  add_language<LanguageOptions>(program, "plan lm", "plan the training of a causal language model", "lm-tiny",
                                EncoderOnlyConfig::preset_names(), add_language_options);
}

}  // namespace gyre
