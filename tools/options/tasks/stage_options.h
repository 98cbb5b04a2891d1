// The stages of gyre train mlm and lm: the tables [[stage]] of a configuration file.
#pragma once

#include "gyre/train/tasks/language/language_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds the tables [[stage]]. `options` must outlive the table.
void add_stage_tables(OptionTable& table, LanguageOptions& options);

}  // namespace gyre
