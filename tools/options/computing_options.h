// --device, --precision and --cpu-threads of commands other than training jobs.
#pragma once

#include <iterator>
#include <optional>
#include <string>
#include <vector>

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

class CpuThreads {
 public:
  void add_row(OptionTable& table, const std::string& more_names = {}) {
    table.add("--cpu-threads,--threads" + more_names, threads_, "THREADS",
              "number of threads; 0: all cores, or OMP_NUM_THREADS");
  }
  // Applies the given number of threads; 0 keeps the default. Throws UsageError for a negative number.
  void use() const;
  // Likewise, for a rank with so many cores: choose_threads() has the default.
  void use(int cores) const;

 private:
  int threads_ = 0;
};

}  // namespace gyre
