// The options and the output that the commands for metrics of translations have in common.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/moses_bleu.h"
#include "gyre/train/metrics/ter.h"
#include "tools/program.h"

namespace gyre {

// The metrics of translations in the form that the evaluate commands print and resample.

// The score of one system.
struct SystemScore {
  std::string name;       // of the metric, and for BLEU of the protocol: "compound-split BLEU"
  std::string signature;  // begins with "nrefs:"
  double score = 0;       // percent
  std::string details;    // printed after the score; may be empty
  Json json;              // begins with the score under the name of the command
  SentenceStatistics statistics;
  ScoreOfSums score_of;
};

using TranslationMetric = std::function<SystemScore(const Lines& hypotheses, const std::vector<Lines>& references)>;

TranslationMetric sacrebleu_metric(const BleuOptions& options);
TranslationMetric moses_bleu_metric(const MosesBleuOptions& options);
TranslationMetric chrf_metric(const ChrfOptions& options);
TranslationMetric ter_metric(const TerOptions& options);

struct MetricOptions {
  std::vector<Path> references, inputs;
  bool confidence = false;
  int64_t confidence_samples = 1000;
  std::string paired = "none";
  int64_t paired_samples = 0;  // 0: 1,000 for bootstrap, 10,000 for randomization
  uint64_t seed = 12345;
  bool json = false;
};

// Adds `gyre evaluate NAME` with these options. `metrics` returns the metrics to print, once all options are set; it
// may throw UsageError.
OptionTable& add_metric_command(Program& program, const std::string& name, const std::string& help,
                                std::function<std::vector<TranslationMetric>(const OptionTable&)> metrics);

}  // namespace gyre
