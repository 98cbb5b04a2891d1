// --precision for commands other than training jobs.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "tools/command_line/option_table.h"

namespace gyre {

class PrecisionChoice {
 public:
  void add_row(OptionTable& table) {
    table.add_choice("--precision", name_, names_,
                     "precision of activations and matrix products; auto: bf16 if the device supports it");
  }
  // The row of a command that only uses trained models.
  void add_inference_row(OptionTable& table) {
    names_ = inference_precision_names();
    table.add_choice("--precision", name_, names_,
                     "precision of activations and matrix products; int8 (CPUs): of products only; auto: bf16 if the "
                     "device supports it");
  }
  // Throws UsageError if the device does not support it.
  Precision on(const Kernels& kernels) const { return parse_precision(name_, kernels, names_); }

 private:
  std::string name_ = "fp32";
  std::vector<std::string> names_ = precision_names();
};

}  // namespace gyre
