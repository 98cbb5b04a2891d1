// The options of transformer layers, which all models have, as command-line rows: norms, dropout, attention, position
// encoding.
#pragma once

#include <functional>

#include "gyre/models/config/config.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds the options of all layers. `config` must outlive the table. The last heading is "Position encoding".
void add_layer_options(OptionTable& table, ModelConfig& config);

// Adds the options of self-attention under the heading "Attention".
void add_attention_options(OptionTable& table, AttentionConfig& config);

// After resolve(): throws UsageError for an option that was given although nothing reads it.
void reject_unused_layer_options(const OptionTable& table, const ModelConfig& config);
void reject_unused_attention_and_position_options(const OptionTable& table, const AttentionConfig& attention,
                                                  const PositionConfig& position);

// Calls `validate`, which checks the configuration of a model, and rethrows its Error as a UsageError that adds the
// options behind the keys in the message: keys of config.json, from which models are read too.
void validate_model(const OptionTable& table, const std::function<void()>& validate);

}  // namespace gyre
