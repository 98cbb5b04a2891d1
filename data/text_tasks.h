// Tasks of the GLUE benchmark (Wang et al., 2019) as plain data: where texts and labels stand in its files, and what a
// model of them is scored by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/labelled_text.h"

namespace gyre {

struct TextTask {
  std::string name;  // "glue-mrpc"
  // Of the training and development files. Classes are in Hugging Face's order, so that a classifier's outputs mean the
  // same on both sides. Of a file without a header line the columns are found by number.
  LabelledFormat format;
  std::vector<std::string> metrics;  // names of train/metrics; the first one chooses the best checkpoint

  bool is_pair() const { return format.second_text.has_value(); }
  bool is_regression() const { return format.is_regression(); }
};

const std::vector<TextTask>& text_tasks();

// Throws UsageError that lists the names and offers the nearest one.
const TextTask& text_task(std::string_view name);

}  // namespace gyre
