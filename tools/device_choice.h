// --device: where a command that works on its own, without MPI, computes.
#pragma once

#include <string>

#include "core/kernels.h"
#include "tools/option_table.h"

namespace gyre {

class DeviceChoice {
 public:
  void add_row(OptionTable& table) {
    table.add("--device", name_, "DEVICE", "cpu, cuda (the first GPU) or cuda:N (GPU number N, from 0)");
  }
  // Throws UsageError where the device cannot be used.
  Kernels& kernels() const { return kernels_on(parse_device(name_, 0)); }

 private:
  std::string name_ = "cpu";
};

}  // namespace gyre
