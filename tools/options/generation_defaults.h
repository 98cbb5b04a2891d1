// Defaults of gyre generate in the generation_config.json of an imported model.
#pragma once

#include "gyre/core/io/file.h"
#include "gyre/models/decode/generate.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Sets the options that the user did not give, and the ids that end a text, as the file in the run directory says, if
// there is one, and prints them to standard error. Throws an Error for a file that cannot be read.
void apply_generation_config(const Path& run, const OptionTable& table, GenerationOptions& options, int& max_tokens);

}  // namespace gyre
