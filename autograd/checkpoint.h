// The op of a checkpoint (Tape::checkpoint).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "gyre/autograd/tape.h"

namespace gyre {

// The state of the tape at the beginning of the checkpoint, with which compute() has the same results again. FLOPs are
// those of the ops that backward records.
struct Tape::Checkpoint final : Op {
  std::function<Var()> compute;
  std::string module;
  uint64_t first_dropout = 0;
  std::string_view name() const override { return "checkpoint"; }
  std::string_view formula() const override { return "y = compute(), which backward calls again to record its ops"; }
  void backward(Backward& /*b*/) override {}  // Tape::run_checkpoint_backward
};

}  // namespace gyre
