// What the tests of whole runs share: options and models that train in a moment, and what a run leaves behind.
#pragma once

#include <string>

#include "models/config.h"
#include "train/checkpoint.h"
#include "train/options.h"

namespace gyre::test {

// Into `run`, every update logged; quiet, one thread.
void set_tiny_run(TrainOptions& options, const Path& run);
void set_tiny_layers(LayerConfig& config, double dropout);

// The bytes of the weights and the optimizer's moments in a run's last checkpoint.
std::string last_bits(const Path& run);
TrainState last_state(const Path& run);

// The cross-entropy of each logged update, as text with all digits; null where nothing was predicted.
std::string loss_curve(const Path& run);

}  // namespace gyre::test
