// The progress of a training run.
#pragma once

#include <cstdint>

namespace gyre {

struct Progress {
  uint64_t updates = 0;
  uint64_t epoch = 0;  // finished epochs
  uint64_t batch = 0;  // finished global batches of the current epoch
  uint64_t target_tokens = 0;
  uint64_t source_tokens = 0;
  uint64_t sentences = 0;
};

}  // namespace gyre
