// Command-line options of models: a preset and the options that the model's configuration declares, which override the
// values of the preset wherever they are given.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/models/config/config.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// An encoder-decoder as given on the command line.
struct ModelArgs {
  std::string task = "transformer-tiny";
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
};

// A model with a single stack (BERT, RoFormer, causal language models) as given on the command line.
struct EncoderArgs {
  explicit EncoderArgs(const std::string& preset) : preset(preset), config(EncoderOnlyConfig::preset(preset)) {}
  std::string preset;
  EncoderOnlyConfig config;
};

// `args` must outlive the table.
void add_model_options(OptionTable& table, ModelArgs& args);
// `preset_names`: the preset option and its aliases ("--preset,--task,--arch"). `presets`: the available presets.
void add_encoder_options(OptionTable& table, EncoderArgs& args, const std::string& preset_names,
                         const std::vector<std::string>& presets);
// The presets of bidirectional encoders.
std::vector<std::string> encoder_presets();

// Call after resolve(). Throws UsageError for an invalid configuration or an option that would have no effect. The size
// of the vocabulary is not known yet and is not checked.
void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config);
void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config);

// Calls `validate`, which checks the configuration of a model, and rethrows its Error as a UsageError that adds the
// options behind the keys in the message: keys of config.json, from which models are read too.
void validate_model(const OptionTable& table, const std::function<void()>& validate);

}  // namespace gyre
