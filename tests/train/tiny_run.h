// Shared by the tests of complete runs: options and models that train in a moment, and readers of a run's files.
#pragma once

#include <initializer_list>
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

// Checks that two runs ended with the same bits and had the same curve of losses.
void check_same_runs(const Path& actual, const Path& expected);

// Checks that the losses of two runs differ by at most this share.
void check_close_curves(const Path& actual, const Path& expected, double tolerance);

// Checks that a run that ends at each of these lengths and is resumed is the same as one without a break. The first run
// has the directory of the options, the other one the same with the suffix "-cut".
template <class Options, class Train>
void check_resumed(const Options& straight, std::initializer_list<const char*> lengths, const Train& train) {
  train(straight);
  Options cut = straight;
  cut.start.directory += "-cut";
  for (const char* after : lengths) {
    cut.stop.after = Period::parse(after);
    train(cut);
  }
  check_same_runs(cut.start.directory, straight.start.directory);
}

}  // namespace gyre::test
