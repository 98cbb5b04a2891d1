// run/task.json: the task of a classifier, which its evaluation needs in addition to the model.
//   {"header": true, "text": {"name": "sentence", "number": 0}, "second_text": null, "label": {"name": "label", ..},
//    "classes": ["0", "1"], "metrics": ["accuracy"], "max_length": 128}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/labeled_text.h"

namespace gyre {

struct TrainedTask {
  LabeledFormat format;
  std::vector<std::string> metrics;
  int max_length = 0;  // rows are truncated to this number of ids

  nlohmann::ordered_json to_json() const;
};

// Reads run/task.json. Throws an Error that names the file if it is invalid.
TrainedTask read_task(const Path& run);

}  // namespace gyre
