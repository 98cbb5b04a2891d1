// The options that the layers of every model have as command-line rows: norms, dropout, position encoding.
#pragma once

#include "models/config.h"
#include "tools/option_table.h"

namespace gyre {

// `config` must outlive the table. The last heading is that of the position encoding.
void add_layer_options(OptionTable& table, ModelConfig& config);

// After resolve(): throws UsageError for an option that was given although nothing reads it.
void reject_idle_layer_options(const OptionTable& table, const ModelConfig& config);

}  // namespace gyre
