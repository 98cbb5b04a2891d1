#include "gyre/train/tasks/matching/match_task.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

Json MatchTask::to_json() const {
  return {{"task", "match"}, {"loss", objective.loss}, {"margin", objective.margin}, {"max_length", max_length}};
}

bool is_match_task(const Path& run) {
  if (!std::filesystem::exists(task_path(run))) return false;
  const Json json = read_json(task_path(run));
  return json.is_object() && json.contains("task") && json["task"] == "match";
}

MatchTask read_match_task(const Path& run) {
  const Json json = read_json(task_path(run));
  try {
    require(json.at("task") == "match", "the task is another one");
    MatchTask task{{json.at("loss"), json.at("margin")}, json.at("max_length")};
    expect_one_of({"cross-entropy", "margin-loss"}, "loss", task.objective.loss);
    expect_finite_at_least(0, "margin", task.objective.margin);
    expect_at_least(4, "max_length", task.max_length);
    return task;
  } catch (const std::exception& error) {
    throw Error(task_path(run).string(), ": expected a task as gyre train match writes it: ", json_reason(error));
  }
}

}  // namespace gyre
