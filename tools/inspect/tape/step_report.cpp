#include "tools/inspect/tape/step_report.h"

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tools/inspect/tape/tape_report.h"

namespace gyre {
namespace {

Json to_json(const Tensor& tensor) {
  return tensor ? tensor_json(tensor.shape(), tensor.dtype(), compute_stats(tensor)) : Json();
}

Json to_json(const BackwardStep::Input& input) {
  return {{"node", input.node},
          {"name", input.name},
          {"value", to_json(input.value)},
          {"gradient", to_json(input.gradient)}};
}

Json to_json(const BackwardStep& step) {
  Json attributes = Json::object(), saved = Json::array(), inputs = Json::array();
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
Json tensor_json(const Shape& shape, DType dtype, const TensorStats& stats) {
  const bool has_range = stats.min <= stats.max;
  return {{"shape", shape_json(shape)},
          {"dtype", dtype_name(dtype)},
          {"min", has_range ? Json(stats.min) : Json()},
          {"max", has_range ? Json(stats.max) : Json()},
          {"norm", stats.norm},
          {"nan", stats.nan},
          {"infinite", stats.infinite}};
}

Json steps_json(const std::vector<BackwardStep>& steps) {
  Json all = Json::array();
  for (const BackwardStep& step : steps) all.push_back(to_json(step));
  return all;
}

}  // namespace gyre
