// run/task.json: what an evaluation must know of a classifier beside its model.
//   {"header": true, "text": {"name": "sentence", "number": 0}, "second_text": null, "label": {"name": "label", ..},
//    "classes": ["0", "1"], "metrics": ["accuracy"], "max_length": 128}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/file.h"
#include "data/labelled_text.h"

namespace gyre {

struct TrainedTask {
  LabelledFormat format;
  std::vector<std::string> metrics;
  int max_length = 0;  // ids that a row is cut to

  nlohmann::ordered_json to_json() const;
};

// Throws an Error that names the file.
TrainedTask read_task(const Path& run);

}  // namespace gyre
