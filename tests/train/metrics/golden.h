// Readers of what the metric tests compare with: golden/metrics.json, and shared/data/sacrebleu_tests where it is
// there.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/metrics/code_points.h"
#include "train/metrics/parallel_lines.h"

struct ParallelText {
  gyre::Lines hypotheses;
  std::vector<gyre::Lines> references;
};

nlohmann::json read_golden_metrics();

// The lines that one golden case was computed on.
ParallelText parallel_text(const nlohmann::json& golden, const nlohmann::json& expected);

struct Wmt17System {
  std::string name;
  gyre::Lines hypotheses, reference;
  double bleu;
  std::optional<double> chrf, chrf_plus;
};

// Empty where the shared data is missing.
std::vector<Wmt17System> read_wmt17();
