// The fused ops: the ops of autograd/ops with kernels. Each also has a composed definition, written with the ops of
// autograd/elementary.h, which runs where a backend lacks the kernels and where the environment variable GYRE_COMPOSED
// asks for it: "all", or names of ops separated by commas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gyre {

class Kernels;

// A fused op of a backend: each Kernels has one for every op, a member that all_kernels.inc declares.
struct FusedOp {
  // Adds itself to the fused ops of the backend.
  FusedOp(std::vector<FusedOp*>& ops, std::string_view op_name, bool on_gpus);
  FusedOp(const FusedOp&) = delete;
  FusedOp& operator=(const FusedOp&) = delete;

  // Whether the op runs its composed definition on this backend: it lacks the kernels, or GYRE_COMPOSED, which is read
  // once, asks for it. Throws UsageError if GYRE_COMPOSED has a name that no op has.
  bool runs_composed() const;

  const std::string_view name;
  const bool gpus_have_kernels;
  // Whether the backend has the kernels. Without them, a Tape runs the composed definition, which is enough for
  // training. Decoding with a key-value cache calls the kernels of attention and RoPE without a tape and cannot do
  // without them. Only the constructor of a backend, and tests, may write it, and not while kernels run.
  bool has_kernels = true;

 private:
  const std::vector<FusedOp*>& all_;
};

// The names of the fused ops that run composed with these kernels, separated by commas, or "none".
std::string composed_ops(const Kernels& kernels);

}  // namespace gyre
