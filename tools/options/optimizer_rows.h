// The options of optimizers.
#pragma once

#include "gyre/train/optim/optimizer_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

void add_optimizer_rows(OptionTable& table, OptimizerOptions& options);

// Sets the defaults that depend on the optimizer, and throws UsageError if an option was given that it does not use.
void check_optimizer_options(const OptionTable& table, OptimizerOptions& options);

}  // namespace gyre
