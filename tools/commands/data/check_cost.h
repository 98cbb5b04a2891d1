// Memory and time of a training run, for gyre data check.
#pragma once

#include <string>
#include <vector>

#include "gyre/data/checking/check_data.h"
#include "gyre/models/config/config.h"
#include "gyre/train/tasks/translation/nmt_options.h"

namespace gyre {

struct RunCost {
  std::string where;  // "predicted for 8 x h200", "predicted for 1 rank of 2 threads of this machine"
  int ranks = 1;
  double memory_bytes = 0;  // memory of each rank
  double update_seconds = 0, epoch_seconds = 0;
  double run_seconds = 0;  // 0: --after does not give the updates
  std::vector<Finding> findings;
};

// Plans the run as gyre plan does, with the sentence length and the updates of `epoch`.
RunCost run_cost(const NmtOptions& options, const EncoderDecoderConfig& config, const Epoch& epoch, int ranks);

}  // namespace gyre
