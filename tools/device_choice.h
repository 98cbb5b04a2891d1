// --device: where a command that is no training job computes.
#pragma once

#include <string>

#include "core/kernels.h"
#include "tools/option_table.h"

namespace gyre {

class DeviceChoice {
 public:
  void add_row(OptionTable& table) {
    table.add("--device", name_, "DEVICE", "cpu, cuda (the first GPU) or cuda:N (GPU number N, from 0)");
    table.offer({"cpu", "cuda"});
  }
  // Of the ranks on a machine each has its own. Throws UsageError where the device cannot be used.
  Kernels& kernels(int local_rank = 0) const { return kernels_on(parse_device(name_, local_rank)); }

 private:
  std::string name_ = "cpu";
};

}  // namespace gyre
