// Training a translation model: `gyre train nmt`.
#pragma once

#include "models/config.h"
#include "train/communicator.h"
#include "train/nmt_options.h"

namespace gyre {

// Collective. Begins the run in options.model, or continues the one that is there; returns the exit status. The
// vocabulary sets config.vocab_size. Only rank 0 writes files.
int train_nmt(const NmtOptions& options, const EncoderDecoderConfig& config, Communicator& ranks);

}  // namespace gyre
