// A weight that is packed once for many products.
#pragma once

#include <cstdint>
#include <memory>

#include "gyre/core/kernels/precision.h"

namespace gyre {

// A weight (rows, columns) in the layout that Kernels::packed_linear() reads: only for the kernels that packed it.
struct PackedWeight {
  Precision precision = Precision::fp32;
  int64_t rows = 0, columns = 0;
  std::shared_ptr<void> panels;
};

}  // namespace gyre
