// The options that the layers of every model have as command-line rows: norms, dropout, attention, position
// encoding.
#pragma once

#include "models/config.h"
#include "tools/option_table.h"

namespace gyre {

// `config` must outlive the table. The last heading is that of the position encoding.
void add_layer_options(OptionTable& table, ModelConfig& config);

// Only those of attention and of the position encoding, each under a heading of its own.
void add_attention_options(OptionTable& table, AttentionConfig& config);
void add_position_options(OptionTable& table, PositionConfig& config);
// Those of them that say how RoPE turns.
void add_rope_options(OptionTable& table, PositionConfig& config);

// After resolve(): throws UsageError for an option that was given although nothing reads it.
void reject_idle_layer_options(const OptionTable& table, const ModelConfig& config);
void reject_idle_position_options(const OptionTable& table, const PositionConfig& config);
void reject_idle_rope_options(const OptionTable& table, const PositionConfig& config);
// Both of attention and of the position encoding.
void reject_idle_order_options(const OptionTable& table, const AttentionConfig& attention,
                               const PositionConfig& position);

}  // namespace gyre
