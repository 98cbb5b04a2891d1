// Imports and exports the adapters of runs in the directory format of Hugging Face's PEFT (models/hugging_face/peft.h).
#pragma once

#include <string>

#include "gyre/core/io/file.h"

namespace gyre {

// Writes a run directory with the adapters in the directory `from` for the model in `base`: a run, a checkpoint or its
// weights. Throws an Error if the adapters do not fit the base. `overwrite`: as write_run_of_weights(). Returns a
// description of the result.
std::string write_imported_adapters(const Path& from, const Path& base, const Path& run, bool overwrite);

// Writes the adapters of a run. `which`: selects a checkpoint (train/checkpoint/model_file.h). Throws an Error if the
// run has none or if transformers has no linear layers for them, and, unless `overwrite`, if there are some already.
// Returns a description of the result.
std::string write_peft(const Path& directory, const Path& model, const std::string& which, bool overwrite);

}  // namespace gyre
