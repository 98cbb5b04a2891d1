// The options, the loading and the predictions that the commands for encoders with a classification head have in
// common.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/pretrained/trained_task.h"
#include "gyre/train/tasks/predictions.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/device_choice.h"
#include "tools/options/precision_choice.h"
#include "tools/program.h"

namespace gyre {

struct ClassifierEvaluation {
  Path model, input;
  std::string checkpoint, on_bad_line = "default";
  int max_length = 0;  // 0: as in training
  uint64_t mini_batch = 64;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;

  void add_input_rows(OptionTable& table, const std::string& input_help);
  // `items` are what is truncated, such as "pairs"; `lines` are the lines of the input, such as "rows".
  void add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines);
  void add_execution_rows(OptionTable& table, const std::string& items);

  // Checks the options, applies --cpu-threads, prints the model to standard error and loads it.
  TrainedModel<SequenceClassifier> load() const;
  Predictions predictions(const SequenceClassifier& classifier, const LabeledIds& items) const;
};

// The task of a GLUE preset, or without one (an empty name) that of the run.
TrainedTask classification_task(const Path& model, const std::string& preset);
// Throws an Error that names the model unless it has an output for each class, or one for a regression.
void require_outputs(const Path& model, const ClassifierConfig& config, const TrainedTask& task);

}  // namespace gyre
