// Command-line options of single-stack models (BERT, RoFormer, causal language models).
#pragma once

#include <string>
#include <vector>

#include "gyre/models/config/config.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// The model as given on the command line: a preset and every field of the configuration.
struct EncoderArgs {
  explicit EncoderArgs(const std::string& preset) : preset(preset), config(EncoderOnlyConfig::preset(preset)) {}
  std::string preset;
  EncoderOnlyConfig config;
};

// `args` must outlive the table. `preset_names`: the preset option and its aliases ("--preset,--task,--arch"); the
// other rows override the preset's values. `presets`: the available presets.
void add_encoder_options(OptionTable& table, EncoderArgs& args, const std::string& preset_names,
                         const std::vector<std::string>& presets);

// Call after resolve(). Throws UsageError for an invalid configuration or an option that would have no effect. The size
// of the vocabulary is not known yet and is not checked.
void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config);

// The presets of bidirectional encoders.
std::vector<std::string> encoder_presets();

}  // namespace gyre
