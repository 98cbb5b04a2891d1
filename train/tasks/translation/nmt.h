// Training of translation models: `gyre train nmt`.
#pragma once

#include <optional>

#include "gyre/models/config/config.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/replay.h"
#include "gyre/train/tasks/translation/nmt_options.h"

namespace gyre {

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. The vocabulary sets config.vocab_size. Only rank 0 writes files.
std::optional<ReplayResult> train_nmt(const Resolved<NmtOptions>& options, const EncoderDecoderConfig& config,
                                      Communicator& ranks);

}  // namespace gyre
