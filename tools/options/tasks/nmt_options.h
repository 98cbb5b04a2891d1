// Command-line options of `gyre train nmt`: those of every training run and those of the task.
#pragma once

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` and `config` must outlive the table. `config`: of the model, which --pretrained-model sets.
void add_nmt_options(OptionTable& table, NmtOptions& options, EncoderDecoderConfig& config);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_nmt_training(const OptionTable& table, NmtOptions& options);

// The same for the options of the task and of the model together, and for a model that cannot be built.
void check_nmt_options(const OptionTable& table, NmtOptions& options, const EncoderDecoderConfig& config);

}  // namespace gyre
