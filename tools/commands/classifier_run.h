// Execution options of the commands that apply an encoder with a classification head, the loading of the model, and its
// predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/predictions.h"
#include "tools/options/computing_options.h"
#include "tools/program.h"

namespace gyre {

struct ClassifierRun {
  Path model;
  std::string checkpoint;
  int max_length = 0;  // 0: as in training
  uint64_t mini_batch = 64;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;

  // `item` is what is truncated, such as "pair".
  void add_length_row(OptionTable& table, const std::string& item);
  // `items` are what a batch counts, such as "pairs".
  void add_execution_rows(OptionTable& table, const std::string& items);

  // Checks the options, applies --cpu-threads, prints the model to standard error and loads it.
  TrainedModel<SequenceClassifier> load() const;
  // The number of ids to which texts are truncated: --max-length, or without it `trained`, but at most the positions of
  // the model. Throws UsageError if --max-length exceeds them.
  int length(const SequenceClassifier& classifier, int trained) const;
  Predictions predictions(const SequenceClassifier& classifier, const LabeledIds& items) const;
};

// The task of a GLUE preset, or without one (an empty name) that of the run. For an imported model, whose task is not
// known, `labels` replaces the names of its classes, which are LABEL_0, LABEL_1 and so on without names of its own.
// Throws a UsageError for another number of labels, and an Error unless the model has an output for each class, or one
// for a regression.
TrainedTask classification_task(const Path& model, const std::string& preset, const ClassifierConfig& config,
                                const std::vector<std::string>& labels);
// Whether the task of the model is unknown, because it was imported and no preset names one.
bool has_imported_task(const Path& model, const std::string& preset);

// Options that the evaluations of encoders with a classification head have in common.
struct ClassifierEvaluation : ClassifierRun {
  Path input;
  OnBadLine on_bad_line = OnBadLine::by_kind;

  void add_input_rows(OptionTable& table, const std::string& input_help);
  // `item` is what is truncated, such as "pair"; `lines` are the lines of the input, such as "rows".
  void add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines);
};

}  // namespace gyre
