// The options that position encodings declare as command-line rows: --shaw-clip for "shaw_clip".
#pragma once

#include "gyre/models/position/position_config.h"
#include "gyre/models/position/rope.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds --position and the options of all encodings, except those for cross-attention, under the heading "Position
// encoding". `config` must outlive the table.
void add_position_options(OptionTable& table, PositionConfig& config);
// Adds the options for cross-attention.
void add_cross_attention_position_options(OptionTable& table, PositionConfig& config);
// Adds the options of RoPE that define its rotation.
void add_rope_options(OptionTable& table, RopeOptions& options);

// After resolve(): throws UsageError for an option that was given although the chosen encoding does not read it, or
// although the value of another option disables it.
void reject_unused_position_options(const OptionTable& table, const PositionConfig& config);
void reject_unused_rope_options(const OptionTable& table, const RopeOptions& options);

}  // namespace gyre
