// A model of three parameters with its optimizer, for the checkpoint tests.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/optim/optimizer.h"
#include "tests/errors.h"

inline gyre::OptimizerOptions small_options(double ema) {
  gyre::OptimizerOptions o;
  o.schedule.warmup = 3;
  o.ema = ema;
  return o;
}

inline gyre::Path save_checkpoint(const gyre::RunDirectory& run, const gyre::Parameters& parameters,
                                  const gyre::Optimizer& optimizer, const gyre::TrainState& state) {
  return write_checkpoint(run, checkpoint_content(parameters, optimizer, state));
}

class SmallRun {
 public:
  explicit SmallRun(double ema = 0, uint64_t seed = 1)
      : optimizer((build(seed), parameters), gyre::cpu_kernels(), small_options(ema)) {}

  // The gradient depends on the weights and the step, so that a wrong weight affects later updates.
  void train(int updates) {
    for (int n = 0; n < updates; ++n) {
      const auto step = static_cast<double>(optimizer.step());
      for (gyre::Parameter& p : parameters) {
        for (int64_t i = 0; i < p.value.size(); ++i) {
          p.gradient.data<float>()[i] = static_cast<float>(std::sin(3.0 * double(p.value.data<float>()[i]) + step));
        }
      }
      optimizer.update(2);
      ++state.progress.updates;
      state.progress.target_tokens += 100;
    }
  }

  std::vector<float> weights() const { return parameters.values().to_vector<float>(); }

  gyre::Parameters parameters;
  gyre::Optimizer optimizer;
  gyre::TrainState state;

 private:
  void build(uint64_t seed) {
    parameters.add("embedding.weight", {10, 6}, gyre::Init::normal(1));
    parameters.add("layer.0.weight", {6, 6}, gyre::Init::normal(1));
    parameters.add("layer.0.bias", {6}, gyre::Init::constant(0.5), false);
    parameters.allocate(seed);
  }
};

inline gyre::Path train_and_save(const gyre::RunDirectory& run, SmallRun& small, int updates) {
  small.train(updates);
  return save_checkpoint(run, small.parameters, small.optimizer, small.state);
}
