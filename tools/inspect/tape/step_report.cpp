#include "tools/inspect/tape/step_report.h"

#include <nlohmann/json.hpp>

#include "tools/inspect/tape/tape_report.h"

namespace gyre {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Tensor& tensor) {
  return tensor ? tensor_json(tensor.shape(), tensor.dtype(), compute_stats(tensor)) : ordered_json();
}

ordered_json to_json(const BackwardStep::Input& input) {
  return {{"node", input.node},
          {"name", input.name},
          {"value", to_json(input.value)},
          {"gradient", to_json(input.gradient)}};
}

ordered_json to_json(const BackwardStep& step) {
  ordered_json attributes = ordered_json::object(), saved = ordered_json::array(), inputs = ordered_json::array();
  for (const auto& [name, value] : step.metadata.attributes) attributes[name] = value;
  for (const auto& [name, tensor] : step.metadata.saved) saved.push_back({{"name", name}, {"value", to_json(tensor)}});
  for (const BackwardStep::Input& input : step.inputs) inputs.push_back(to_json(input));
  return {{"node", step.node},
          {"op", step.op},
          {"module", step.module},
          {"formula", step.formula},
          {"attributes", attributes},
          {"saved", saved},
          {"output", to_json(step.output)},
          {"doutput", to_json(step.doutput)},
          {"inputs", inputs}};
}

}  // namespace

// A tensor without finite elements has no range.
ordered_json tensor_json(const Shape& shape, DType dtype, const TensorStats& stats) {
  const bool has_range = stats.min <= stats.max;
  return {{"shape", shape_json(shape)},
          {"dtype", dtype_name(dtype)},
          {"min", has_range ? ordered_json(stats.min) : ordered_json()},
          {"max", has_range ? ordered_json(stats.max) : ordered_json()},
          {"norm", stats.norm},
          {"nan", stats.nan},
          {"infinite", stats.infinite}};
}

ordered_json steps_json(const std::vector<BackwardStep>& steps) {
  ordered_json all = ordered_json::array();
  for (const BackwardStep& step : steps) all.push_back(to_json(step));
  return all;
}

}  // namespace gyre
