// Command-line options that the tasks with a classification head share: the initial model, and the training options.
#pragma once

#include <string>
#include <vector>

#include "gyre/train/tasks/fine_tuning_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` must outlive the table. `item`: the element of a batch, in the plural ("rows"). `valid_rows`: the element
// of a validation batch.
void add_fine_tuning_options(OptionTable& table, FineTuningOptions& options, const std::string& item,
                             const std::string& valid_rows, const std::vector<std::string>& valid_metrics);

// Call after resolve(). Sets the default learning rate. Throws UsageError for options that would have no effect in this
// run.
void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options);

// Throws UsageError for options of the encoder and of its vocabulary beside --pretrained-model, which has its own.
void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options);

}  // namespace gyre
