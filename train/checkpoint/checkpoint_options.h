// Options of the run directory: the checkpoints that it keeps, and how a run starts or resumes in it.
#pragma once

#include <cstdint>

#include "gyre/core/io/file.h"

namespace gyre {

struct SavingOptions {
  bool in_background = true;  // write a copy of the state, which needs memory, while training continues
  int keep_last = 5;          // number of checkpoints to keep in addition to the best one; 0: all
  uint64_t keep_every = 0;    // checkpoints at multiples of this number of updates are always kept; 0: none
};

// The parts of a checkpoint that a resumed run restores in addition to the weights.
struct Reload {
  bool optimizer = true;  // the moments
  bool position = true;   // the position in the data; if false, the run restarts at the first epoch
  bool best = true;       // the best value of each metric, and the number of validations without improvement
};

struct StartOptions {
  Path directory;           // the run directory
  bool overwrite = false;   // delete the run in the directory and start over
  bool auto_resume = true;  // resume the run in the directory; if false, there must be none
  Reload reload;
};

}  // namespace gyre
