#include "tools/bench/decode.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "gyre/models/decode/translate.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/lines.h"
#include "tools/options/model_choice.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"
#include "tools/workload/text_lengths.h"

namespace gyre {
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
    std::vector<int32_t> ids = trained.vocabulary->encode(line);
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
