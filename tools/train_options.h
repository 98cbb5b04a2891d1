// The options that every training run has as command-line rows: the one place that ties names, aliases (Marian's and
// fairseq's), defaults and units to the fields of TrainOptions. A task adds its own (tools/nmt_options.h).
#pragma once

#include <string>
#include <vector>

#include "tools/option_table.h"
#include "train/options.h"

namespace gyre {

// What a task lets its call choose from, for the rows that depend on it.
struct TaskChoices {
  std::vector<std::string> batch_units;
  std::string batch_unit_help;
  std::string valid_metrics;  // "cross-entropy, perplexity"
  std::string learning_rate_help = "peak learning rate";
};

// All but what names the data and the vocabulary. `options` must outlive the table.
void add_train_options(OptionTable& table, TrainOptions& options, const TaskChoices& choices);

// After resolve(): what the run keeps and says of the call's options.
void record_train_options(const OptionTable& table, TrainOptions& options);

// Options that were given although nothing in this run reads them are an error, not a silence. After resolve().
void reject_idle_train_options(const OptionTable& table, const TrainOptions& options);

}  // namespace gyre
