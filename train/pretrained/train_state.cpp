#include "gyre/train/pretrained/train_state.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/train/checkpoint/model_file.h"

namespace gyre {

std::optional<TrainState> find_train_state(const Path& model, const std::string& which) {
  std::vector<Path> checkpoints = list_checkpoints(find_run(model));
  checkpoints.push_back(find_model_file(model, which).parent_path());
  for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint) {
    if (!std::filesystem::exists(state_path(*checkpoint))) continue;
    // An average and an imported model have weights only.
    if (read_manifest(*checkpoint).contains("progress")) return read_train_state(*checkpoint);
  }
  return std::nullopt;
}

}  // namespace gyre
