// The options and the output that the commands for metrics of translations have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/commands/evaluate/translation_metrics.h"
#include "tools/program.h"

namespace gyre {

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
