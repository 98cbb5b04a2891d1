// --precision for commands other than training jobs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tools/command_line/option_table.h"

namespace gyre {

class PrecisionChoice {
 public:
  void add_row(OptionTable& table) {
    add(table, {std::begin(kTrainingPrecisions), std::end(kTrainingPrecisions)},
        "precision of activations and matrix products; auto: bf16 if the device supports it");
  }
  // The row of a command that only uses trained models.
  void add_inference_row(OptionTable& table) {
    add(table, enum_values<Precision>(),
        "precision of activations and matrix products; int8 (CPUs): of products only; auto: bf16 if the device "
        "supports it");
  }
  // Throws UsageError if the device does not support it.
  Precision on(const Kernels& kernels) const { return precision_on(kernels, precision_); }

 private:
  void add(OptionTable& table, const std::vector<Precision>& values, const std::string& help) {
    table.add({"--precision", one_of(&precision_, "auto", values), "", help});
  }

  std::optional<Precision> precision_ = Precision::fp32;
};

}  // namespace gyre
