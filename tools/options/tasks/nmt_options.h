// Command-line options of `gyre train nmt`: those of every training run and those of the task.
#pragma once

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` must outlive the table.
void add_nmt_options(OptionTable& table, NmtOptions& options);

// Call after resolve(). Throws UsageError for options that were given but would have no effect in this run.
void reject_unused_nmt_options(const OptionTable& table, const NmtOptions& options);

// The same for the options of the task and of the model together, and for a model that cannot be built.
void check_nmt_options(const OptionTable& table, const NmtOptions& options, const EncoderDecoderConfig& config);

}  // namespace gyre
