// Command-line options of the encoder-decoder: names, aliases (Marian's and fairseq's), defaults.
#pragma once

#include "gyre/models/config/config.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// The model as given on the command line: a preset and every field of the configuration.
struct ModelArgs {
  std::string task = "transformer-tiny";
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
};

// `args` must outlive the table. The other options override the values of --task, in any order.
void add_model_options(OptionTable& table, ModelArgs& args);

// Call after resolve(). Throws UsageError for an invalid configuration or an option that would have no effect. The size
// of the vocabulary is not known yet and is not checked.
void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config);

}  // namespace gyre
