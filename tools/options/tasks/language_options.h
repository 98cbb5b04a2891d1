// Command-line options of `gyre train mlm` and `gyre train lm`: those of every training run and those of the task.
#pragma once

#include "gyre/models/config/config.h"
#include "gyre/train/tasks/language/language_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` and `config` must outlive the table. `config`: of the model, which --pretrained-model sets.
void add_language_options(OptionTable& table, LanguageOptions& options, EncoderOnlyConfig& config);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_language_options(const OptionTable& table, LanguageOptions& options);

}  // namespace gyre
