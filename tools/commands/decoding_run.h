// Execution options of `gyre translate` and `gyre score`, and the loading of their models.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gyre/models/decode/translate.h"
#include "tools/lines.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"

namespace gyre {

struct DecodedLines {
  uint64_t lines = 0;
  double waited = 0;  // seconds spent waiting for them
};

struct DecodingRun {
  EnsembleChoice ensemble;
  DecodingBatchLimits batches;
  int maxi_batch = 100;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;
  bool quiet = false;

  // Adds the options of the group Execution. `sentences` and `tokens` are what the limits of a batch count.
  void add_execution_rows(OptionTable& table, const std::string& sentences, const std::string& tokens);
  void check() const;  // throws UsageError
  // The number of lines that are read ahead and sorted by length.
  size_t window() const { return size_t(maxi_batch) * size_t(batches.sentences); }
  // Calls work() with the chosen number of threads. Before it, prints the models to standard error, and after it the
  // number of lines that it returns and the time without that of waiting, unless `quiet` is set.
  void run(const std::function<DecodedLines()>& work) const;
};

// The loaded models, with the options of decoding for their vocabulary and device.
struct LoadedDecoder {
  LoadedDecoder(const DecodingRun& run, DecodeOptions decode, bool allow_unknown = false);

  Kernels& kernels;
  LoadedEnsemble trained;
  DecodeOptions options;
};

}  // namespace gyre
