// Finds the first op of a forward and backward pass that produces a NaN or an infinity.
#pragma once

#include <string>

#include "gyre/autograd/tape.h"

namespace gyre {

// Attach it to a tape before recording. It reads every value and gradient, which makes a pass far slower.
class NanFinder final : public TapeObserver {
 public:
  // The first op with a non-finite result; empty if all results are finite. For example: "forward: bounded_exp in
  // encoder.layers.0.self_attn gives (4, 8) with 3 NaN and 1 infinite, the others in [-1, 2]; input 0: (4, 8), all in
  // [-3, 800]".
  const std::string& report() const { return report_; }

  void on_record(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

 private:
  std::string report_;
  bool of_checkpoint_ = false;  // the report is about a checkpoint, or about an op inside one
  bool found_inside_ = false;   // the report is about the checkpoint that backward records now
};

}  // namespace gyre
