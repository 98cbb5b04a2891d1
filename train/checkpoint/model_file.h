// Finds, reads and averages the weights of trained models.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"

namespace gyre {

// Returns the path of model.safetensors, or of model.safetensors.index.json for a sharded model. `model` is a run
// directory, a checkpoint directory or the file itself. `which` selects a checkpoint of a run: "best", "last",
// "average" (the newest average), or the name ("step-00001000") or path of a checkpoint; if it is empty, "best" if
// present, else "last". Throws if there is no such file.
Path find_model_file(const Path& model, const std::string& which = "");
// A description of the selected weights for the user: "run/checkpoints/step-00000400 (best; the last is
// step-00000561)", or their path if they do not belong to a run.
std::string describe_model(const Path& model, const std::string& which = "");
// Returns the run directory (with config.json) of a run, checkpoint or model file. Throws if there is none.
Path find_run(const Path& model);

// Reads a model file and throws unless it matches its checksums, which every checkpoint has, also one that was copied
// out of its run. Other files have none.
void verify_if_checkpoint(const Path& file);
// Reads the parameters from the file that find_model_file() returns. Throws an Error that names every tensor that is
// missing, is unexpected or has a wrong shape, and one if a tensor of a checkpoint fails its checksum. Of a run with
// adapters (train/checkpoint/lora_record.h), they are the weights of the base with the adapters merged into them.
void load_model_weights(const Path& model, Parameters& parameters, const std::string& which = "");

// The names of the tensors that only a file or only a model has.
struct TensorDifferences {
  std::vector<std::string> of_file, of_model;
};
// Like load_model_weights(), but the file may have other tensors than the parameters: those that only one of them has
// are not read, and returned. Tensors whose names is_other() accepts count as such, too. Throws an Error for a tensor
// that has another shape in the file, and for a run with adapters.
TensorDifferences load_common_weights(const Path& model, Parameters& parameters,
                                      const std::function<bool(const std::string& name)>& is_other);

// Writes the arithmetic mean of model files to <output>/model.safetensors, and <output>/state.json. Sums are in f64;
// tensors without a floating-point dtype are copied from the first file. Throws unless all files have the same tensor
// names, shapes and dtypes.
void average_models(const std::vector<Path>& inputs, const Path& output);
// Averages the newest n checkpoints of a run into checkpoints/average-last-<n>, points `average` at it and returns its
// path.
Path average_last(const Path& run, int n);
// Averages the given checkpoints (names or paths) into checkpoints/average-<count>-chosen, points `average` at it and
// returns its path.
Path average_chosen(const Path& run, const std::vector<std::string>& checkpoints);

}  // namespace gyre
