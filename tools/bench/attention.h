// gyre bench attention: measures time and memory of self-attention over one long sequence, forward and backward, at
// growing lengths for each kind of attention.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/models/config/config.h"

namespace gyre {

struct AttentionBench {
  std::vector<AttentionKind> kinds{AttentionKind::linear, AttentionKind::softmax};
  std::vector<int64_t> lengths{1024, 2048, 4096, 8192, 16384, 32768, 65536};  // tokens
  AttentionConfig attention;                                                  // options other than the kind
  int64_t dim = 256, heads = 4;
  bool causal = true;
  Precision precision = Precision::fp32;
  int repetitions = 3;
};

struct AttentionRow {
  AttentionKind kind;
  int64_t length;
  double forward_seconds, backward_seconds;  // medians
  double flops;                              // FLOPs of forward and backward
  double peak_mb;                            // peak memory of tensors between ops, in MiB
};

struct AttentionReport {
  std::vector<AttentionRow> rows;
  double limit_flops = 0;  // FLOP/s
};

// Includes the projections of the layer, but no position encoding.
AttentionReport run_attention_bench(Kernels& kernels, const AttentionBench& bench);
Json to_json(const AttentionReport& report);
Json rows_json(const AttentionReport& report);
void print_rows(const AttentionReport& report);

}  // namespace gyre
