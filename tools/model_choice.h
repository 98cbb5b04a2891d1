// Tells which weights a command works with: without --checkpoint that is the run's best checkpoint, which need not be
// its last.
#pragma once

#include <string>

#include "core/file.h"

namespace gyre {

// A line on standard error: "model: run/checkpoints/step-00000400 (best; the last is step-00000561)".
void print_model_choice(const Path& model, const std::string& checkpoint = "");

}  // namespace gyre
