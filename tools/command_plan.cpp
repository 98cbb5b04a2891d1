// gyre plan nmt|mlm|lm: memory, time and scaling of a training job before it is started. Takes the recipe that gyre
// train takes; what the model costs is measured on this machine, what the link does is given.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/kernels.h"
#include "tools/bench/figures.h"
#include "tools/encoder_options.h"
#include "tools/foreign_options.h"
#include "tools/language_options.h"
#include "tools/model_options.h"
#include "tools/nmt_options.h"
#include "tools/plan_load.h"
#include "tools/program.h"
#include "train/range_sum.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kSampleTokens = 2048;  // on all sides, of the batch that is measured
constexpr double kGiga = 1e9, kMega = 1 << 20;

struct Plan {
  std::vector<int> ranks{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  int64_t vocabulary_size = 32000;  // where there is no --vocab
  int sentence_length = 30;
  double link_gbit = 10, latency_us = 30;
  double gflops = 0, memory_gb = 0;
  bool weak = false;
  bool json = false;
  const OptionTable* table = nullptr;

  // Of --vocab-size, or of the --vocab that the recipe names.
  int64_t pieces(const Path& vocabulary) const {
    if (table->given("vocab-size") || vocabulary.empty()) return vocabulary_size;
    if (!std::filesystem::exists(vocabulary))
      throw UsageError("--vocab: ", vocabulary.string(), " does not exist; --vocab-size does without it");
    return load_vocabulary(vocabulary)->size();
  }
};

// How many tokens a global batch has, on all sides that go through the model.
double batch_tokens(const TrainOptions& o, double tokens_of_item, double sides) {
  if (o.batch_unit == "sentences") return double(o.batch_words) * tokens_of_item;
  return double(o.batch_words) * (o.batch_unit == "total" ? 1 : sides);
}

void complete(PlanLoad& load, const TrainOptions& o) {
  load.state_arenas = o.optimizer.ema > 0 ? 3 : 2;
  load.shards_per_rank = o.accumulation;
  load.wire_bytes = double(dtype_bytes(wire_type(o.gradient_dtype)));
  load.bucket_bytes = o.bucket_mb * kMega;
  load.zero = o.zero == 1;
}

ordered_json to_json(const PlanRow& row, double tokens, double first_rate) {
  const double rate = tokens / row.step();
  return {{"ranks", row.ranks},
          {"memory_mib", rounded(row.memory() / kMega)},
          {"weights_mib", rounded(row.weights / kMega)},
          {"gradients_mib", rounded(row.gradients / kMega)},
          {"optimizer_mib", rounded(row.state / kMega)},
          {"activations_mib", rounded(row.activations / kMega)},
          {"step_seconds", rounded(row.step())},
          {"compute_seconds", rounded(row.compute)},
          {"optimizer_seconds", rounded(row.optimizer)},
          {"exchange_seconds", rounded(row.exchange)},
          {"exposed_seconds", rounded(row.exposed)},
          {"tokens_per_second", rounded(rate)},
          {"efficiency", rounded(rate / first_rate / row.ranks)}};
}

void print(const ordered_json& facts) {
  for (const auto& [name, value] : facts.items())
    if (!value.is_array())
      std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
  std::printf("%6s %12s %10s %10s %12s %12s %12s\n", "ranks", "MiB a rank", "step s", "exchange s", "exposed s",
              "tokens/s", "efficiency");
  for (const auto& row : facts.at("rows")) {
    std::printf("%6d %12.0f %10.4g %10.4g %12.4g %12.6g %11.1f%%\n", row["ranks"].get<int>(),
                row["memory_mib"].get<double>(), row["step_seconds"].get<double>(),
                row["exchange_seconds"].get<double>(), row["exposed_seconds"].get<double>(),
                row["tokens_per_second"].get<double>(), 100 * row["efficiency"].get<double>());
  }
}

int report(const Plan& call, const PlanLoad& load, const PlanRates& rates, const TrainOptions& options,
           int64_t pieces) {
  const Scaling scaling = call.weak ? Scaling::weak : Scaling::strong;
  const double first_rate = load.tokens / plan_step(load, rates, 1, scaling).step();
  ordered_json rows = ordered_json::array();
  for (const int ranks : call.ranks) {
    const double tokens = call.weak ? load.tokens * ranks : load.tokens;
    rows.push_back(to_json(plan_step(load, rates, ranks, scaling), tokens, first_rate));
  }
  const ordered_json facts{{"parameters", load.parameters},
                           {"vocabulary", pieces},
                           {"tokens_a_step", rounded(load.tokens)},
                           {"scaling", call.weak ? "weak: each rank a batch of its own" : "strong: one batch for all"},
                           {"threads_a_rank", threads()},
                           {"tflop_a_step", rounded(load.flops_per_token * load.tokens / 1e12)},
                           {"gradient_mib_a_step", rounded(double(load.parameters) * load.wire_bytes / kMega)},
                           {"last_share", rounded(double(load.last_parameters) / double(load.parameters))},
                           {"gflops", rounded(rates.flops / kGiga)},
                           {"memory_gb_per_second", rounded(rates.memory / kGiga)},
                           {"link_gbit", rounded(rates.link * 8 / kGiga)},
                           {"precision", options.precision},
                           {"rows", rows}};
  if (call.json) {
    std::cout << facts.dump() << '\n';
  } else {
    print(facts);
  }
  return 0;
}

void check(const Plan& call) {
  for (const int ranks : call.ranks)
    if (ranks < 1) throw UsageError("--ranks: expected at least 1, got ", ranks);
  if (call.link_gbit <= 0) throw UsageError("--link-gbit: expected more than 0, got ", call.link_gbit);
  if (call.sentence_length < 2) throw UsageError("--sentence-length: expected at least 2, got ", call.sentence_length);
}

// config: with the size of the vocabulary. make(items, device): the workload of a batch of so many items, each of
// `item_tokens` tokens on all sides.
template <class Make>
int plan(const Plan& call, const TrainOptions& options, const ModelConfig& config, double item_tokens, double sides,
         Make&& make) {
  check(call);
  if (call.table->spelled("model"))
    throw UsageError("--model would have no effect: --config ", (options.model / "train.toml").string(),
                     " plans for a run");
  for (const std::string& note : foreign_notes(*call.table)) std::cerr << note << '\n';
  if (options.threads > 0) set_threads(options.threads);
  Kernels& kernels = kernels_on(parse_device(options.device, 0));
  const Precision precision = parse_precision(options.precision, kernels);
  const int items = std::max(1, int(double(kSampleTokens) / item_tokens));
  const std::unique_ptr<Workload> work = make(items, kernels.device());
  const int64_t tokens = work->draw(0);
  PlanLoad load = measure_load(*work, work->parameters(), kernels, precision, tokens, !options.deterministic);
  load.tokens = batch_tokens(options, item_tokens, sides);
  complete(load, options);
  PlanRates rates = measure_rates(*work, work->parameters(), kernels, precision);
  if (call.gflops > 0) rates.flops = call.gflops * kGiga;
  if (call.memory_gb > 0) rates.memory = call.memory_gb * kGiga;
  rates.link = call.link_gbit * kGiga / 8;
  rates.latency = call.latency_us * 1e-6;
  return report(call, load, rates, options, config.vocab_size);
}

void add_plan_rows(OptionTable& table, Plan& call) {
  call.table = &table;
  table.group("Plan");
  table.add_list("--ranks", call.ranks, "NUMBER,...", "how many processes, of --cpu-threads threads each");
  table.add("--vocab-size", call.vocabulary_size, "PIECES", "of the vocabulary; absent: as many as --vocab has");
  table.add("--link-gbit", call.link_gbit, "GBIT", "a second, that a rank sends and receives (gyre bench allreduce)");
  table.add("--latency-us", call.latency_us, "MICROSECONDS", "of a message (gyre bench allreduce)");
  table.add("--gflops", call.gflops, "GFLOP/S", "of a rank in training steps; 0: measured here");
  table.add("--memory-gb", call.memory_gb, "GB/S", "of a rank's memory; 0: measured here");
  table.add_flag("--weak", call.weak, "every rank has a batch of the recipe's size, instead of a part of it");
  table.add_flag("--json", call.json, "print one JSON object");
  for (const char* name : {"model", "train-sets", "vocab"}) table.required(name, false);
  // Instead of those of training: what changes the plan.
  table.common(split_list(
      {"config,task,preset,dim-emb,enc-depth,dec-depth,layers,position,attention,vocab,max-length,mini-batch-words",
       "mini-batch,optimizer-delay,zero,gradient-dtype,device,precision,cpu-threads,ranks,vocab-size,sentence-length",
       "link-gbit,latency-us,gflops,memory-gb,weak,json"}));
}

struct PlanNmt : Plan {
  NmtOptions train;
  ModelCall model;
};

void add_nmt(Program& program) {
  auto call = std::make_shared<PlanNmt>();
  OptionTable& table = program.command("plan nmt", "of a translation model", [call] {
    call->model.config.vocab_size = call->pieces(call->train.vocabulary);
    as_usage_error([&] { call->model.config.validate(); });
    const double pair = 2.0 * call->sentence_length;
    return plan(*call, call->train, call->model.config, pair, 2, [&](int items, Device device) {
      return translation_workload(call->model.config, items, call->sentence_length, {device});
    });
  });
  table.accept_config_files();
  add_model_options(table, call->model);
  add_nmt_options(table, call->train);
  add_plan_rows(table, *call);
  table.add("--sentence-length", call->sentence_length, "TOKENS", "of a sentence, on average");
}

template <class Options>
struct PlanLanguage : Plan {
  explicit PlanLanguage(const std::string& preset) : model(preset) {}
  Options train;
  EncoderCall model;

  int run(bool causal) {
    model.config.causal = model.config.causal || causal;
    model.config.vocab_size = pieces(train.vocabulary);
    as_usage_error([&] { model.config.validate(); });
    return plan(*this, train, model.config, train.max_length, 1, [&](int items, Device device) {
      return language_workload(model.config, items, train.max_length, {device});
    });
  }
};

template <class Options>
void add_language(Program& program, const std::string& words, const std::string& help, const std::string& preset,
                  const std::vector<std::string>& presets, void (*add_options)(OptionTable&, Options&)) {
  constexpr bool kCausal = std::is_same_v<Options, LanguageOptions>;
  auto call = std::make_shared<PlanLanguage<Options>>(preset);
  OptionTable& table = program.command(words, help, [call] { return call->run(kCausal); });
  table.accept_config_files();
  add_encoder_options(table, call->model, "--preset,--task,--arch", presets);
  add_options(table, call->train);
  add_plan_rows(table, *call);
}

}  // namespace

void add_plan_commands(Program& program) {
  program.describe_group("plan", "what a training job will need, and how it scales");
  add_nmt(program);
  add_language<MaskedOptions>(program, "plan mlm", "of a masked language model", "roformer-mini", encoder_presets(),
                              add_masked_options);
  add_language<LanguageOptions>(program, "plan lm", "of a causal language model", "lm-tiny",
                                EncoderOnlyConfig::preset_names(), add_language_options);
}

}  // namespace gyre
