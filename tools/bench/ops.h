// gyre bench ops: every fused op at the shapes of the presets, forward and backward through the tape, and the passes of
// the optimizer. Ops that are products are measured against the machine's best products, the others against its memory:
// what lies in the caches can be faster than that.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "tools/bench/preset_shapes.h"

namespace gyre {

// One op at one shape. A new op is a row of op_benches().
struct OpBench {
  struct Input {
    Shape shape;
    bool parameter = false;  // its gradient adds to an arena
  };
  using Run = std::function<Var(Tape& tape, const std::vector<Var>& inputs)>;

  std::string preset, op, shape;
  std::vector<Input> inputs;
  Run run;
  // Numbers that forward and backward read or write at least once: of data, and of parameters and what belongs to them.
  // None: a product, whose FLOPs are what counts.
  double data = 0, parameters = 0;
  bool loss = false;  // a scalar that backward starts from
  // In place of an op: a pass over flat buffers, all of the inputs' shape.
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
  double limit_flops = 0, limit_bytes = 0;  // a second
};

// preset: or "all". repetitions: of each op.
OpReport run_op_bench(Kernels& kernels, const std::string& preset, Precision precision, int repetitions);
nlohmann::ordered_json to_json(const OpReport& report);
nlohmann::ordered_json rows_json(const OpReport& report);
void print_rows(const OpReport& report);

}  // namespace gyre
