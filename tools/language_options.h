// The options of `gyre train mlm` and `gyre train lm` as command-line rows: those of every training run, and their own.
#pragma once

#include "tools/option_table.h"
#include "train/language_options.h"

namespace gyre {

// `options` must outlive the table.
void add_language_options(OptionTable& table, LanguageOptions& options);
void add_masked_options(OptionTable& table, MaskedOptions& options);  // the same with those of masking

// Options that were given although nothing in this run reads them are an error, not a silence. After resolve().
void reject_idle_language_options(const OptionTable& table, const LanguageOptions& options);

}  // namespace gyre
