// Weights for decoding: where they lie, how they are read and averaged.
#pragma once

#include <string>
#include <vector>

#include "autograd/parameters.h"
#include "core/file.h"

namespace gyre {

// The model.safetensors that `model` stands for, or the model.safetensors.index.json of its shards: a run directory, a
// checkpoint directory or the file itself. `which` chooses within a run: "best", "last", "average" (the newest
// average), a checkpoint's name ("step-00001000") or path; empty: best where there is one, else last.
Path find_model_file(const Path& model, const std::string& which = "");
// Which weights these are, for people: "run/checkpoints/step-00000400 (best; the last is step-00000561)", or the path
// of weights that belong to no run.
std::string describe_model(const Path& model, const std::string& which = "");
// The run directory (the one with config.json) that a run, checkpoint or model file belongs to.
Path find_run(const Path& model);

// Fills the parameters from a safetensors file or an index of shards. Names every missing, unexpected and mis-shaped
// tensor.
void load_weights(const Path& file, Parameters& parameters);
// Both: the usual way to load a trained model.
void load_model_weights(const Path& model, Parameters& parameters, const std::string& which = "");

// Arithmetic mean of the model tensors, summed in f64; tensors that are not floating-point come from the first. All
// files must hold the same names, shapes and dtypes. `inputs` are files; writes <output>/model.safetensors and
// state.json.
void average_models(const std::vector<Path>& inputs, const Path& output);
// Averages the newest n checkpoints of a run into checkpoints/average-last-<n> and points `average` at it; returns it.
Path average_last(const Path& run, int n);
// Averages chosen checkpoints (names or paths) into checkpoints/average-<count>-chosen and points `average` at it.
Path average_chosen(const Path& run, const std::vector<std::string>& checkpoints);

}  // namespace gyre
