// Reads the reference data of the metric tests: the files of golden/, and sacrebleu_tests of the shared data.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/train/metrics/text.h"

struct ParallelText {
  gyre::Lines hypotheses;
  std::vector<gyre::Lines> references;
};

nlohmann::json read_golden(const std::string& file);

// The lines of one golden case.
ParallelText parallel_text(const nlohmann::json& golden, const nlohmann::json& expected);

struct Wmt17System {
  std::string name;
  gyre::Lines hypotheses, reference;
  double bleu, ter;
  std::optional<double> chrf, chrf_plus;
};

// Whether the files of read_wmt17() exist. If not, reports the test case as skipped.
bool has_wmt17();
std::vector<Wmt17System> read_wmt17();
