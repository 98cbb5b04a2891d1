// --model and --checkpoint of commands that use a trained model, and the report of the checkpoint. Without --checkpoint
// it is the run's best checkpoint, which need not be the last.
#pragma once

#include <string>

#include "gyre/core/io/file.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Adds --model, which is required, and --checkpoint.
void add_model_rows(OptionTable& table, Path& model, std::string& checkpoint);
// Adds --checkpoint alone.
void add_checkpoint_row(OptionTable& table, std::string& checkpoint);

// Prints a line to standard error: "model: run/checkpoints/step-00000400 (best; the last is step-00000561)".
void print_model_choice(const Path& model, const std::string& checkpoint = "");

}  // namespace gyre
