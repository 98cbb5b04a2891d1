// Runs a training job for any task: opens the run directory, creates the components and trains to the end.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/options.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/resume.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"

namespace gyre {

// The communicator, device and precision of a rank.
struct JobContext {
  Communicator& ranks;
  Kernels& kernels;
  Precision precision;
  int micro_batches;  // number per global batch, over all ranks
};

// A vocabulary and the file that it was read from.
struct VocabularyFile {
  Path path;
  std::shared_ptr<const Vocabulary> vocabulary;
};

// The components that a task provides.
struct TaskParts {
  VocabularyFile vocabulary;
  std::unique_ptr<TrainingData> data;
  std::unique_ptr<TrainingModel> model;  // model with initial weights, on the device of the job
  RunOptions options;                    // what the task finds out about its options (RunIdentity)
  std::vector<RunStage> stages;          // stages in order, from update 0 to the end of the run; empty: none
  Json task;                             // content of task.json; null: no such file
  std::string chat_template;             // content of chat_template.jinja; empty: no such file
  std::optional<LoraRecord> lora;        // content of lora.json, if the model trains adapters
  // Called if the options enable validation, after the weights have been initialized or restored.
  std::function<std::unique_ptr<Validation>()> make_validation;
};

// The kernels that determine the bits of a run with this precision, as the log and state.json name them: "cpu_v4",
// "cpu_v4 with AMX".
std::string kernels_text(const Kernels& kernels, Precision precision);
// Names two ranks with different kernels; empty if all have the same. `kernels`: kernels_text() of each rank. The sums
// of gradients are the same on all ranks in any case.
std::string kernels_difference(const std::vector<std::string>& kernels);
// The error if ranks with these kernels cannot train together, because the same bits are asked for, or the weights of
// the ranks would become different; empty if they can.
std::string kernels_conflict(const std::vector<std::string>& kernels, const TrainOptions& options);

// Collective. Starts the run in options.start.directory, or resumes an existing one. If options.replay names a
// checkpoint, does not train but replays, and returns the result. Only rank 0 writes files. `options` must be validated
// (Resolved). `make_parts` is called after the log has been opened.
std::optional<ReplayResult> run_job(const TrainOptions& options, Communicator& ranks,
                                    const std::function<TaskParts(const JobContext&)>& make_parts);

}  // namespace gyre
