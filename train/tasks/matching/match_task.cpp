#include "gyre/train/tasks/matching/match_task.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

nlohmann::ordered_json MatchTask::to_json() const {
  return {{"task", "match"}, {"loss", objective.loss}, {"margin", objective.margin}, {"max_length", max_length}};
}

MatchTask read_match_task(const Path& run) {
  const nlohmann::ordered_json json = read_json(task_path(run));
  try {
    require(json.at("task") == "match", "the task is another one");
    return {{json.at("loss"), json.at("margin")}, json.at("max_length")};
  } catch (const std::exception& error) {
    throw Error(task_path(run).string(), ": expected a task as gyre train match writes it: ", json_reason(error));
  }
}

}  // namespace gyre
