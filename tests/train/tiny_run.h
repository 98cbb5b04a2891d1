// Shared by the tests of complete runs: options and models that train in a moment, and readers of a run's files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/models/config/config.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/options.h"

namespace gyre::test {

// Trains into `run`, with every update logged; quiet, one thread.
void set_tiny_run(TrainOptions& options, const Path& run);
void set_tiny_layers(LayerConfig& config, double dropout);

// The bytes of the weights and the optimizer's moments in a run's last checkpoint.
std::string last_bits(const Path& run);
TrainState last_state(const Path& run);

// The entries of one kind in a run's metrics.jsonl: "train", "valid".
std::vector<Json> events(const Path& run, const std::string& name);

// The cross-entropy of each logged update, as text with all digits; null for updates without predictions.
std::string loss_curve(const Path& run);

}  // namespace gyre::test
