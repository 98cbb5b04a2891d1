// gyre bench decode: measures beam search over many sentences.
#pragma once

#include <string>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

struct DecodeBench {
  Path model, input;  // trained model and text; empty: transformer-tiny with random weights and random tokens
  Path text;          // PREFIX.en has the source lengths of random tokens; empty: the synthetic corpus
  int sentences = 500;
  int beam_size = 4;
  Precision precision = Precision::fp32;
  int repetitions = 3;
};

struct DecodeReport {
  std::string workload;  // description
  size_t sentences = 0;
  double output_tokens = 0;  // tokens of the best hypotheses, including EOS
  double seconds = 0;        // median
  double flops = 0;          // FLOP/s of encoder, decoder and output projection of every hypothesis at every step
  double limit_flops = 0;
  double peak_rss_mb = 0, peak_gpu_mb = 0;
};

// Random weights never select EOS, so every translation has as many tokens as its source.
DecodeReport run_decode_bench(Kernels& kernels, const DecodeBench& bench);
Json to_json(const DecodeReport& report);

}  // namespace gyre
