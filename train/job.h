// A training job, whatever the task: opens the run directory, puts the parts together and trains to the end.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/kernels.h"
#include "data/vocabulary.h"
#include "train/communicator.h"
#include "train/options.h"
#include "train/resume.h"
#include "train/training_data.h"
#include "train/training_model.h"
#include "train/validation.h"

namespace gyre {

// Where and how a rank works.
struct JobPlace {
  Communicator& ranks;
  Kernels& kernels;
  Precision precision;
  int shards;  // of a global batch, in the whole job
};

// What a task brings to the job.
struct TaskParts {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::unique_ptr<TrainingData> data;
  std::unique_ptr<TrainingModel> model;  // with its initial weights, on the place's device
  RunOptions options;                    // its own ones that the course of the run depends on
  nlohmann::ordered_json task;           // task.json, where whoever reads the run must know more; null: none
  // Called where the options ask for validation, once the weights are those that training begins with.
  std::function<std::unique_ptr<Validation>()> make_validation;
};

// Collective. Begins the run in options.model, or continues the one that is there; returns the exit status. Only rank 0
// writes files. `options` are valid, with the task's own; `make_parts` is called once the log is open.
int run_job(const TrainOptions& options, Communicator& ranks,
            const std::function<TaskParts(const JobPlace&)>& make_parts);

}  // namespace gyre
