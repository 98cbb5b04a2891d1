// --precision for commands other than training jobs.
#pragma once

#include <string>

#include "gyre/core/kernels/kernels.h"
#include "tools/command_line/option_table.h"

namespace gyre {

class PrecisionChoice {
 public:
  void add_row(OptionTable& table) {
    table.add_choice("--precision", name_, precision_names(),
                     "precision of activations and matrix products; auto: bf16 if the device supports it");
  }
  // Throws UsageError if the device does not support it.
  Precision on(const Kernels& kernels) const { return parse_precision(name_, kernels); }

 private:
  std::string name_ = "fp32";
};

}  // namespace gyre
