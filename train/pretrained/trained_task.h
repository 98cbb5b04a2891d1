// run/task.json: the task of a classifier, which its evaluation needs in addition to the model.
//   {"header": true, "text": {"name": "sentence", "number": 0}, "second_text": null, "label": {"name": "label", ..},
//    "classes": ["0", "1"], "metrics": ["accuracy"], "max_length": 128}
// That of an imported classifier also has "imported": true.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/labeled_text.h"

namespace gyre {

struct TrainedTask {
  LabeledFormat format;
  std::vector<std::string> metrics;
  int max_length = 0;        // rows are truncated to this number of ids; 0: as in training by default
  bool is_imported = false;  // whether gyre import wrote it: the columns of the rows are unknown then

  Json to_json() const;
};

// The task of an imported classifier with these classes; none: a regression. The columns are the first two of a file
// with a header line.
TrainedTask imported_task(std::vector<std::string> classes);

// Reads run/task.json. Throws an Error that names the file if it is invalid.
TrainedTask read_task(const Path& run);

}  // namespace gyre
