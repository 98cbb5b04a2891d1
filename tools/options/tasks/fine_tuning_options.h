// What the tasks with a classification head check after their options have been read.
#pragma once

#include "gyre/train/tasks/fine_tuning_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Call after resolve(). Sets the default learning rate. Throws UsageError for options that would have no effect in this
// run.
void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options);

// Throws UsageError for options of the encoder and of its vocabulary beside --pretrained-model, which has its own.
void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options);

}  // namespace gyre
