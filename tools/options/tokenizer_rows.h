// The options that say how to read the vocabulary file of --vocab.
#pragma once

#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds --tokenizer and --dictionary. `choice` must outlive the table.
void add_tokenizer_rows(OptionTable& table, TokenizerChoice& choice);

}  // namespace gyre
