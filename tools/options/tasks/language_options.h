// Command-line options of `gyre train mlm` and `gyre train lm`: those of every training run and those of the task.
#pragma once

#include "gyre/train/tasks/language/language_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` must outlive the table.
void add_language_options(OptionTable& table, LanguageOptions& options);
void add_masked_options(OptionTable& table, MaskedOptions& options);  // with the masking options

// Call after resolve(). Throws UsageError for options that were given but would have no effect in this run.
void reject_unused_language_options(const OptionTable& table, const LanguageOptions& options);

}  // namespace gyre
