// The options of models of one stack (BERT, RoFormer, causal language models) as command-line rows.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "tools/option_table.h"

namespace gyre {

// What the command line says about the model: a preset, and every field of the configuration.
struct EncoderCall {
  explicit EncoderCall(const std::string& preset) : preset(preset), config(EncoderOnlyConfig::preset(preset)) {}
  std::string preset;
  EncoderOnlyConfig config;
};

// `call` must outlive the table. `preset_names`: the flag and its aliases ("--preset,--task,--arch"); the
// other rows change what it set. `presets`: those to choose from.
void add_encoder_options(OptionTable& table, EncoderCall& call, const std::string& preset_names,
                         const std::vector<std::string>& presets);

// After resolve(): the whole configuration holds together, and no option was given that nothing reads. Throws
// UsageError. The size of the vocabulary is not known yet and not looked at.
void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config);

// The presets of encoders, which see both sides of a token.
std::vector<std::string> encoder_presets();

}  // namespace gyre
