// --device for commands other than training jobs.
#pragma once

#include <string>

#include "gyre/core/kernels/kernels.h"
#include "tools/command_line/option_table.h"

namespace gyre {

class DeviceChoice {
 public:
  void add_row(OptionTable& table) {
    table.add("--device", name_, "DEVICE", "cpu, cuda (the first GPU) or cuda:N (GPU number N, from 0)");
    table.set_completions({"cpu", "cuda"});
  }
  // With "cuda" each rank of a machine gets its own GPU. Throws UsageError if the device is not available.
  Kernels& kernels(int local_rank = 0) const { return kernels_on(parse_device(name_, local_rank)); }

 private:
  std::string name_ = "cpu";
};

}  // namespace gyre
