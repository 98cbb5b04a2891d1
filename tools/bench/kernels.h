// Benchmarks of kernels: fused ops, matrix products and attention.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/tape.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/models/config/config.h"

namespace gyre {

// Shapes of the ops and matrix products in the workload of a model.
struct PresetShape {
  std::string preset;
  int segments, length;  // numbers per batch, on one side
  int64_t dim, ffn, vocabulary;
  int heads;
  Activation activation;
  int64_t loss_rows;   // rows of the output projection
  int64_t parameters;  // approximate number of parameters
  int64_t rows() const { return int64_t{segments} * length; }
};

// The names of these shapes, after "all": those of presets of `gyre bench step`, and gpt2-small, with the batch of
// 4 x 64 tokens on which llm.c trains GPT-2.
std::vector<std::string> shape_presets();
// Returns the shape of this name, or the shapes of the presets for CPUs if it is "all". multi30k-tiny has the shape of
// a typical batch. Throws Error for an unknown name.
std::vector<PresetShape> preset_shapes(const std::string& preset);

// gyre bench ops measures fused and elementary ops at the shapes of the presets, forward and backward through the tape,
// and the passes of the optimizer. The limit of matrix products is the machine's measured product rate. The limit of
// other ops is the memory bandwidth, which data in caches can exceed. This is one op at one shape. A new op is a row of
// op_benches().
struct OpBench {
  struct Input {
    Shape shape;
    bool parameter = false;  // the gradient is added to an arena
  };
  using Run = std::function<Var(Tape& tape, const std::vector<Var>& inputs)>;

  std::string preset, op, shape;
  std::vector<Input> inputs;
  Run run;
  // Numbers that forward and backward must read or write at least once: of data, and of parameters with their gradients
  // and state. Both are 0 for a matrix product, which is measured in FLOPs.
  double data = 0, parameters = 0;
  bool loss = false;  // the output is a scalar loss that backward starts from
  // Replaces `run` by a pass over flat buffers with the shapes of the inputs.
  std::function<void(Kernels& kernels, const std::vector<Tensor>& buffers)> pass{};
};
std::vector<OpBench> op_benches(const PresetShape& shape);

struct OpRow {
  std::string preset, op, shape;
  double forward_seconds, backward_seconds;  // medians
  double work;                               // FLOPs or bytes of both
  bool product;
};

struct OpReport {
  std::vector<OpRow> rows;
  double limit_flops = 0, limit_bytes = 0;  // limits per second
};

// preset: a name or "all". repetitions: runs of each op.
OpReport run_op_bench(Kernels& kernels, const std::string& preset, Precision precision, int repetitions);
Json to_json(const OpReport& report);
Json rows_json(const OpReport& report);
void print_rows(const OpReport& report);

// gyre bench gemm measures the matrix products of the presets' layers, or of square matrices: the median times of a
// product y(n,o) = x(n,d) w(o,d)^T and its two gradients.
struct GemmRow {
  std::string preset, layer, shape;                         // shape: n x d x o; preset: square for square matrices
  double flops;                                             // FLOPs of each of the three products
  double forward_seconds, dinput_seconds, dweight_seconds;  // y = x w^T;  dx = dy w;  dw += dy^T x
};

struct GemmReport {
  std::vector<GemmRow> rows;
  double flops = 0;  // FLOP/s over all rows
  double limit_flops = 0;
};

struct GemmBench {
  std::string preset = "all";  // a name or "all"
  std::vector<int64_t> sizes;  // if not empty, n = d = o of square matrices instead of the layers
  Precision precision = Precision::fp32;
  int repetitions = 10;  // number of runs of each product
};

GemmReport run_gemm_bench(Kernels& kernels, const GemmBench& bench);
Json to_json(const GemmReport& report);
Json rows_json(const GemmReport& report);
void print_rows(const GemmReport& report);

// gyre bench attention measures time and memory of self-attention over long sequences, forward and backward, at growing
// lengths for each kind of attention.
struct AttentionBench {
  std::vector<AttentionKind> kinds{AttentionKind::linear, AttentionKind::softmax};
  std::vector<int64_t> lengths{1024, 2048, 4096, 8192, 16384, 32768, 65536};  // tokens of a sequence
  int64_t segments = 1;                                                       // sequences of each length
  AttentionConfig attention;                                                  // options other than the kind
  int64_t dim = 256, heads = 4;
  bool causal = true;
  Precision precision = Precision::fp32;
  int repetitions = 3;
};

struct AttentionRow {
  AttentionKind kind;
  int64_t length, segments;
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
