// gyre bench decode: beam search over many sentences.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/file.h"
#include "core/kernels.h"

namespace gyre {

struct DecodeBench {
  Path model, input;  // a trained model and text for it; without them transformer-tiny with random weights,
  Path text;          // random tokens, source lengths of PREFIX.en (the embedded corpus when empty)
  int sentences = 500;
  int beam_size = 4;
  Precision precision = Precision::fp32;
  int repetitions = 3;
};

struct DecodeReport {
  std::string workload;  // in words
  size_t sentences = 0;
  double output_tokens = 0;  // of the best hypotheses, with their EOS
  double seconds = 0;        // the median
  double flops = 0;          // a second: encoder, decoder and output of every hypothesis at every step
  double limit_flops = 0;
  double peak_rss_mb = 0, peak_gpu_mb = 0;
};

// Random weights never choose EOS: every translation has as many tokens as its source.
DecodeReport run_decode_bench(Kernels& kernels, const DecodeBench& bench);
nlohmann::ordered_json to_json(const DecodeReport& report);

}  // namespace gyre
