// The communicator, device and precision of a rank.
#pragma once

#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

struct JobContext {
  Communicator& ranks;
  Kernels& kernels;
  Precision precision;
  int micro_batches;  // number per global batch, over all ranks
};

}  // namespace gyre
