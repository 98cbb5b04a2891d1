#include "tools/bench/models.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "gyre/models/decode/translate.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/lines.h"
#include "tools/options/model_choice.h"
#include "tools/summary.h"
#include "tools/workload/device.h"
#include "tools/workload/step_runner.h"
#include "tools/workload/workload.h"

namespace gyre {

namespace {

template <class Config>
Config varied(Config config, const StepVariant& variant) {
  config.position = variant.position;
  config.attention = variant.attention;
  return config;
}

std::unique_ptr<Workload> mlm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("mlm-small");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 16, 256, {device});
}

std::unique_ptr<Workload> lm_small(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");
  config.vocab_size = 8192;
  return language_workload(varied(config, variant), 8, 512, {device});
}

// Keeps the model's own options of RoPE.
std::unique_ptr<Workload> causal(const std::string& model, int64_t vocab_size, int segments, int length,
                                 const StepVariant& variant, Device device) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(model);
  config.vocab_size = vocab_size;
  config.attention = variant.attention;
  if (variant.position.encoding != config.position.encoding) config.position = variant.position;
  return language_workload(config, segments, length, {device});
}

std::unique_ptr<Workload> llama_tiny(const StepVariant& variant, Device device) {
  return causal("llama-tiny", 8192, 8, 512, variant, device);
}
std::unique_ptr<Workload> llama_160m(const StepVariant& variant, Device device) {
  return causal("llama-160m", 32000, 2, 512, variant, device);
}
std::unique_ptr<Workload> llama_160m_32k(const StepVariant& variant, Device device) {
  return causal("llama-160m", 32000, 32, 1024, variant, device);
}
std::unique_ptr<Workload> neox_160m(const StepVariant& variant, Device device) {
  return causal("neox-160m", 50304, 2, 512, variant, device);
}

std::unique_ptr<Workload> mlm_base_32k(const StepVariant& variant, Device device) {
  EncoderOnlyConfig config;
  config.layers = 12;
  config.dim = 768;
  config.ffn = 3072;
  config.heads = 12;
  config.vocab_size = 30522;
  return language_workload(varied(config, variant), 64, 512, {device});
}

std::unique_ptr<Workload> nmt_base(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-base");
  config.vocab_size = 32768;
  return translation_workload(varied(config, variant), 16, 32, {device});
}

std::unique_ptr<Workload> nmt_25k(const std::string& model, const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset(model);
  config.vocab_size = 32768;
  return translation_workload(varied(config, variant), constant_rate("adam", 0.98), random_batches(4, 833),
                              "833 pairs of 25 to 35 random tokens per side", {device});
}

std::unique_ptr<Workload> nmt_base_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-base", variant, device);
}
std::unique_ptr<Workload> nmt_big_25k(const StepVariant& variant, Device device) {
  return nmt_25k("transformer-big", variant, device);
}

std::unique_ptr<Workload> multi30k_tiny(const StepVariant& variant, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 10000;
  config.norm = NormPlacement::pre;
  config.dropout = 0.3;
  OptimizerOptions optimizer;
  optimizer.schedule.learning_rate = 4e-3;
  optimizer.schedule.warmup = 1000;
  optimizer.ema = 0.999;
  return translation_workload(varied(config, variant), optimizer, token_batches(read_lengths(variant.text)),
                              "random tokens, " + describe_text(variant.text), {device});
}

constexpr struct {
  const char* name;
  std::unique_ptr<Workload> (*make)(const StepVariant& variant, Device device);
} kPresets[] = {{"mlm-small", mlm_small},           {"lm-small", lm_small},         {"nmt-base", nmt_base},
                {"multi30k-tiny", multi30k_tiny},   {"nmt-base-25k", nmt_base_25k}, {"nmt-big-25k", nmt_big_25k},
                {"mlm-base-32k", mlm_base_32k},     {"llama-tiny", llama_tiny},     {"llama-160m", llama_160m},
                {"llama-160m-32k", llama_160m_32k}, {"neox-160m", neox_160m}};

}  // namespace

std::vector<std::string> step_presets() {
  std::vector<std::string> names;
  for (const auto& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

std::unique_ptr<Workload> make_workload(const std::string& preset, const StepVariant& variant, Device device) {
  for (const auto& known : kPresets) {
    if (preset != known.name) continue;
    std::unique_ptr<Workload> work = known.make(variant, device);
    work->set_recompute(variant.recompute);
    return work;
  }
  throw Error("[bench] expected a known preset, got ", preset);
}

namespace {

constexpr int kWarmUp = 2;

struct Measured {
  double step_seconds = 0, divisor = 0;  // divisor: the seconds of all tokens and FLOPs
  double flops = 0;
  int64_t tokens = 0;
};

void add(Measured& sum, const StepCost& cost) {
  sum.flops += cost.flops;
  sum.tokens += cost.tokens;
}

// Waits for the end of each step.
Measured run_one_by_one(StepRunner& runner, int steps, bool varies) {
  Measured sum;
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    const StepCost cost = runner.run(uint64_t(i));
    seconds.push_back(cost.seconds);
    sum.divisor += cost.seconds;
    add(sum, cost);
  }
  sum.step_seconds = median(seconds);
  if (!varies) sum.divisor = sum.step_seconds * steps;
  return sum;
}

// Queues all steps, because training does not wait for the end of a step either. Like training, a step waits for the
// outcome of the update before it, while its forward and backward are queued.
Measured queue_all(StepRunner& runner, Device device, int steps) {
  Measured sum;
  DeviceWatch watch(device);
  for (int i = 0; i < steps; ++i) add(sum, runner.queue(uint64_t(i)));
  runner.finish();
  sum.divisor = watch.lap();
  sum.step_seconds = sum.divisor / steps;
  return sum;
}

// The peak of tensor memory in the steps so far, without the tensors that stay between steps.
double activations_mb(Device device) {
  const MemoryStats memory = tensor_memory(device);
  return double(memory.peak_bytes - memory.active_bytes) / kMebibyte;
}

// Collective. Adds up what the ranks have done, and takes the longest times and the most memory.
void join(Communicator& ranks, Measured& measured, double& limit_flops, double& rss_mb) {
  std::vector<double> sums{measured.flops, double(measured.tokens), limit_flops};
  ranks.all_reduce(std::span<double>(sums));
  measured.flops = sums[0];
  measured.tokens = int64_t(sums[1]);
  limit_flops = sums[2];
  for (double* value : {&measured.step_seconds, &measured.divisor, &rss_mb}) {
    std::vector<double> of_rank(static_cast<size_t>(ranks.size()));
    of_rank[size_t(ranks.rank())] = *value;
    ranks.all_reduce(std::span<double>(of_rank));
    *value = *std::max_element(of_rank.begin(), of_rank.end());
  }
}

}  // namespace

StepReport run_step_bench(Kernels& kernels, Communicator& ranks, const StepBench& bench) {
  const Device device = kernels.device();
  const std::unique_ptr<Workload> work = make_workload(bench.preset, bench.variant, device);  // reads --text, if any
  const ProductLimit limit(device, bench.precision);
  reset_peak_rss();
  work->draw_ahead(uint64_t(bench.steps) * uint64_t(ranks.size()));
  StepRunner runner(*work, kernels, bench.precision, ranks);
  for (int i = 0; i < kWarmUp; ++i) runner.run(uint64_t(i % bench.steps));

  Timeline timeline(device_probe(device));
  if (bench.profile) runner.attach(&timeline);
  ranks.barrier();
  Measured measured = device == Device{} || bench.profile ? run_one_by_one(runner, bench.steps, work->varies())
                                                          : queue_all(runner, device, bench.steps);
  const double own_limit = limit.value();
  double limit_flops = own_limit, rss_mb = peak_rss_mb();
  join(ranks, measured, limit_flops, rss_mb);
  StepReport report;
  report.ranks = ranks.size();
  report.step_seconds = measured.step_seconds;
  report.tokens_per_step = double(measured.tokens) / bench.steps;
  report.tokens_per_second = double(measured.tokens) / measured.divisor;
  report.flops = measured.flops / measured.divisor;
  report.peak_rss_mb = rss_mb;
  report.peak_gpu_mb = peak_gpu_mb(device);
  report.activations_mb = activations_mb(device);
  report.parameters = work->parameters().elements();
  report.batches = work->batches();
  report.limit_flops = limit_flops;
  report.own_limit_flops = own_limit;
  if (bench.profile) {
    report.profile = per_step(rows_by_op(timeline.spans()), bench.steps);
    report.predicted = predict_step(kernels, bench.precision, own_limit, work->optimizer(),
                                    [&](Device on) { return make_workload(bench.preset, bench.variant, on); });
  }
  return report;
}

Json to_json(const StepReport& report) {
  Json summary{{"batches", report.batches},
               {"parameters", report.parameters},
               {"tokens_per_step", rounded(report.tokens_per_step)},
               {"tokens_per_second", rounded(report.tokens_per_second)},
               {"step_ms", rounded(1e3 * report.step_seconds)}};
  add_rate(summary, report.flops, report.limit_flops);
  add_memory(summary, report.peak_rss_mb, report.peak_gpu_mb);
  summary["activations_mb"] = rounded(report.activations_mb);
  if (!report.predicted.kind.empty()) summary["predicted_as"] = report.predicted.kind;
  return summary;
}

Json rows_json(const StepReport& report) {
  return profile_json(report.profile, report.own_limit_flops, report.predicted.ops);
}

void print_rows(const StepReport& report) {
  print_profile("one step", report.profile, report.own_limit_flops, report.predicted.ops);
}

namespace {

struct DecodeWorkload {
  std::string text;
  std::shared_ptr<const EncoderDecoder> model;
  std::vector<std::vector<int32_t>> sources;
  DecodeOptions options;
};

std::shared_ptr<const EncoderDecoder> random_model(int32_t eos, Device device) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 10000;
  config.norm = NormPlacement::pre;
  auto model = std::make_shared<EncoderDecoder>(config);
  model->parameters().allocate(1, DType::f32, device);
  // EOS then scores 0, which is near the middle of the 10,000 random scores.
  model->parameters().find("embed_tokens.weight")->value.slice(eos, eos + 1).zero();
  return model;
}

DecodeWorkload random_workload(const DecodeBench& bench, Device device) {
  DecodeWorkload work;
  work.options.max_length_extra = 0;
  work.options.max_length_factor = 1;
  work.model = random_model(work.options.eos, device);
  std::vector<PairLengths> lengths = read_lengths(bench.text);
  lengths.resize(std::min(lengths.size(), size_t(bench.sentences)));
  RandomStream random(1, 0);
  for (const PairLengths& pair : lengths) {
    std::vector<int32_t>& source = work.sources.emplace_back();
    for (int i = 1; i < pair.source; ++i) source.push_back(int32_t(4 + random.below(9996)));
    source.push_back(work.options.eos);
  }
  work.text = "transformer-tiny with random weights, " + describe_text(bench.text);
  return work;
}

DecodeWorkload trained_workload(const DecodeBench& bench, Device device) {
  print_model_choice(bench.model);
  auto trained = load_trained_model<EncoderDecoder>(bench.model, "", {}, device);
  DecodeWorkload work;
  set_vocabulary(work.options, *trained.vocabulary);
  for (const std::string& line : read_lines(bench.input)) {
    std::vector<int32_t> ids = trained.vocabulary->side(0).encode(line);
    if (ids.empty()) continue;
    ids.push_back(work.options.eos);
    work.sources.push_back(std::move(ids));
    if (int(work.sources.size()) == bench.sentences) break;
  }
  require(!work.sources.empty(), "[bench] ", bench.input.string(), " has no sentence");
  work.model = std::move(trained.model);
  work.text = bench.model.string() + " on " + bench.input.string();
  return work;
}

}  // namespace

DecodeReport run_decode_bench(Kernels& kernels, const DecodeBench& bench) {
  const Device device = kernels.device();
  const ProductLimit limit(device, bench.precision);
  reset_peak_rss();
  DecodeWorkload work = bench.model.empty() ? random_workload(bench, device) : trained_workload(bench, device);
  work.options.beam_size = bench.beam_size;
  work.options.precision = bench.precision;
  work.options.packed = packed_weights_for(kernels, bench.precision);
  DecodeReport report{.workload = work.text, .sentences = work.sources.size()};
  std::vector<double> seconds;
  double flops = 0;
  for (int i = 0; i <= bench.repetitions; ++i) {
    flops = report.output_tokens = 0;
    DeviceWatch watch(device);
    const auto results = translate(*work.model, kernels, work.sources, work.options, {}, {}, &flops);
    if (i > 0) seconds.push_back(watch.lap());  // the first one is a warm-up
    for (const auto& hypotheses : results) report.output_tokens += double(hypotheses.front().ids.size() + 1);
  }
  report.seconds = median(seconds);
  report.flops = flops / report.seconds;
  report.peak_rss_mb = peak_rss_mb();
  report.peak_gpu_mb = peak_gpu_mb(device);
  report.limit_flops = limit.value();
  return report;
}

Json to_json(const DecodeReport& report) {
  Json summary{{"workload", report.workload},
               {"sentences", report.sentences},
               {"sentences_per_second", rounded(double(report.sentences) / report.seconds)},
               {"tokens_per_second", rounded(report.output_tokens / report.seconds)}};
  add_rate(summary, report.flops, report.limit_flops);
  add_memory(summary, report.peak_rss_mb, report.peak_gpu_mb);
  return summary;
}

}  // namespace gyre
