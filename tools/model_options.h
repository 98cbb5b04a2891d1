// The options of the encoder-decoder as command-line rows: names, aliases (Marian's and fairseq's), defaults.
#pragma once

#include "models/config.h"
#include "tools/option_table.h"

namespace gyre {

// What the command line says about the model: a preset, and every field of the configuration.
struct ModelCall {
  std::string task = "transformer-tiny";
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
};

// `call` must outlive the table. The others change what --task set, wherever it was given.
void add_model_options(OptionTable& table, ModelCall& call);

// After resolve(): the whole configuration holds together, and no option was given that nothing reads. Throws
// UsageError. The size of the vocabulary is not known yet and not looked at.
void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config);

}  // namespace gyre
