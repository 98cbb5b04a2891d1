// gyre bench ops: measures every fused op at the shapes of the presets, forward and backward through the tape, and the
// passes of the optimizer. The limit of matrix products is the machine's measured product rate. The limit of other ops
// is the memory bandwidth, which data in caches can exceed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/tape.h"
#include "gyre/core/io/json.h"
#include "tools/bench/preset_shapes.h"

namespace gyre {

// One op at one shape. A new op is a row of op_benches().
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

}  // namespace gyre
