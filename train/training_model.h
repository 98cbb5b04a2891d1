// What the training loop knows of a model, whatever the task.
#pragma once

#include <any>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "autograd/ops.h"
#include "autograd/parameters.h"
#include "autograd/tape.h"

namespace gyre {

class TrainingModel {
 public:
  virtual ~TrainingModel() = default;

  virtual Parameters& parameters() = 0;
  // Summed over the predictions of a shard; `input` is its input, of the type that the task's data make.
  virtual LossResult loss(Tape& tape, const std::any& input) const = 0;
  // Before each update, whose number counts from the start of the run: for what changes otherwise than by gradients. A
  // pure function of the seed and the number.
  virtual void before_update(uint64_t /*seed*/, uint64_t /*update*/) {}
  // What a prediction's loss is called; one that is no cross-entropy has no count of right predictions.
  virtual std::string loss_name() const { return "cross-entropy"; }
  virtual std::string describe() const = 0;  // its architecture, for the log
  // The run's config.json; a run goes on only with the same one.
  virtual nlohmann::ordered_json config() const = 0;
};

}  // namespace gyre
