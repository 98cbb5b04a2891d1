// Finds the first number of a forward and backward pass that is not finite.
#pragma once

#include <string>

#include "autograd/tape.h"

namespace gyre {

// Attached to a tape before it records. Reads every value and gradient, so a pass takes far longer.
class NanFinder final : public TapeObserver {
 public:
  // Where it was first seen, empty when all was finite: "forward: exp in decoder.layer.0 gives (4, 8) with 3 NaN and 1
  // infinite, the others in [-1, 2]; input 0: (4, 8), all in [-3, 800]".
  const std::string& report() const { return report_; }

  void on_record(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

 private:
  std::string report_;
};

}  // namespace gyre
