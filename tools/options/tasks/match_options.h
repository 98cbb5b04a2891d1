// Command-line options of `gyre train match`: those of every fine-tuning and those of the task.
#pragma once

#include "gyre/train/tasks/matching/match_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// `options` must outlive the table.
void add_match_options(OptionTable& table, MatchOptions& options);

}  // namespace gyre
