// Tasks of the GLUE benchmark (Wang et al., 2019): the columns of texts and labels in its files, and the metrics that
// score a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/text/labeled_text.h"

namespace gyre {

struct TextTask {
  std::string name;  // "glue-mrpc"
  // Format of the training and development files. Classes are in Hugging Face's order, so that the outputs of an
  // exchanged classifier keep their meaning. Columns of a file without a header line are found by number.
  LabeledFormat format;
  std::vector<std::string> metrics;  // names from train/metrics; the first one selects the best checkpoint

  bool is_pair() const { return format.second_text.has_value(); }
  bool is_regression() const { return format.is_regression(); }
};

const std::vector<TextTask>& text_tasks();

// Throws a UsageError that lists all names and suggests the nearest one if there is no task of this name.
const TextTask& text_task(std::string_view name);

}  // namespace gyre
