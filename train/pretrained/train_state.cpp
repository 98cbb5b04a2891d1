#include "gyre/train/pretrained/train_state.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/model_file.h"

namespace gyre {
namespace {

// The state in a directory of weights, unless they are an average or were imported.
std::optional<TrainState> state_in(const Path& checkpoint) {
  if (!std::filesystem::exists(state_path(checkpoint)) || !read_manifest(checkpoint).contains("progress"))
    return std::nullopt;
  return read_train_state(checkpoint);
}

// The checkpoint that an average was computed from, by the path of its model file at that time. The run may have been
// moved.
Path averaged_checkpoint(const Path& run, const std::string& model_file) {
  const Path then = Path(model_file).parent_path();
  return std::filesystem::exists(then) ? then : checkpoints_path(run) / then.filename();
}

}  // namespace

std::optional<TrainState> find_train_state(const Path& model, const std::string& which) {
  const Path weights = find_model_file(model, which).parent_path();
  if (auto own = state_in(weights)) return own;
  std::optional<TrainState> newest;
  if (!std::filesystem::exists(state_path(weights))) return newest;
  for (const auto& file : read_manifest(weights).value("averaged", Json::array())) {
    auto state = state_in(averaged_checkpoint(find_run(model), file.get<std::string>()));
    if (state && (!newest || state->progress.updates > newest->progress.updates)) newest = std::move(state);
  }
  return newest;
}

std::optional<TrainState> newest_train_state(const Path& run) {
  const std::vector<Path> checkpoints = list_checkpoints(run);
  for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint) {
    try {
      if (auto state = state_in(*checkpoint)) return state;
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::optional<TrainState> find_run_state(const Path& model, const std::string& which) {
  if (auto state = find_train_state(model, which)) return state;
  return newest_train_state(find_run(model));
}

}  // namespace gyre
