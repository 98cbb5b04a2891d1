// The metrics of translations in the form that the evaluate commands print and resample.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/metrics/moses_bleu.h"
#include "gyre/train/metrics/ter.h"

namespace gyre {

// The score of one system.
struct SystemScore {
  std::string name;       // name of the metric, and for BLEU of the protocol: "compound-split BLEU"
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

}  // namespace gyre
