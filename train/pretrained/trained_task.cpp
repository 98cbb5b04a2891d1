#include "gyre/train/pretrained/trained_task.h"

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {
namespace {

Json column_json(const std::optional<Column>& column) {
  return column ? Json{{"name", column->name}, {"number", column->number}} : Json();
}

std::optional<Column> column_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Column{json.at("name"), json.at("number")};
}

}  // namespace

Json TrainedTask::to_json() const {
  Json json{{"header", format.has_header},
            {"text", column_json(format.text)},
            {"second_text", column_json(format.second_text)},
            {"label", column_json(format.label)},
            {"classes", format.classes},
            {"metrics", metrics},
            {"max_length", max_length}};
  if (is_imported) json["imported"] = true;
  return json;
}

TrainedTask imported_task(std::vector<std::string> classes) {
  TrainedTask task;
  task.is_imported = true;
  task.format.label = Column{"", 1};
  task.format.classes = std::move(classes);
  task.metrics = task.format.is_regression() ? std::vector<std::string>{"spearman", "pearson"}
                                             : std::vector<std::string>{"accuracy"};
  return task;
}

TrainedTask read_task(const Path& run) {
  const Json json = read_json(task_path(run));
  try {
    TrainedTask task;
    task.format = {json.at("header"), column_of(json.at("text")).value(), column_of(json.at("second_text")),
                   column_of(json.at("label")), json.at("classes")};
    task.metrics = json.at("metrics");
    task.max_length = json.at("max_length");
    task.is_imported = json.value("imported", false);
    return task;
  } catch (const std::exception& error) {
    throw Error(task_path(run).string(),
                ": expected a classifier's task as gyre train writes it: ", json_reason(error));
  }
}

}  // namespace gyre
