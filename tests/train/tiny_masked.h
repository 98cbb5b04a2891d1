// A masked-language model that trains in a moment, through the same loop as every task: sentences of letters in
// alphabetical order, from any letter on. Every epoch masks other letters.
#pragma once

#include "models/config.h"
#include "train/communicator.h"
#include "train/options.h"

namespace gyre::test {

// 10 updates an epoch, into `run`; quiet, without validation. Writes vocab.bytes into `data`.
TrainOptions masked_options(const Path& data, const Path& run);

EncoderOnlyConfig masked_config(double dropout = 0.1);

// As train_nmt().
int train_masked(const TrainOptions& options, const EncoderOnlyConfig& config, Communicator& ranks);

}  // namespace gyre::test
