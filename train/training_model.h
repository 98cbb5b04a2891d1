// The interface of a model to the training loop. The loss is bound to the data: see train/training_data.h.
#pragma once

#include <string>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/json.h"

namespace gyre {

class TrainingModel {
 public:
  virtual ~TrainingModel() = default;

  virtual Parameters& parameters() = 0;
  // Called before each update, for state that changes other than by gradients. `update` counts from the start of the
  // run. The new state is a pure function of the seed and the update.
  virtual void before_update(uint64_t /*seed*/, uint64_t /*update*/) {}
  // The name of the loss of a prediction. Only a cross-entropy comes with a count of correct predictions.
  virtual std::string loss_name() const { return "cross-entropy"; }
  virtual std::string describe() const = 0;  // the architecture, for the log
  // The content of the run's config.json. A run is resumed only with the same configuration.
  virtual Json config() const = 0;
};

}  // namespace gyre
