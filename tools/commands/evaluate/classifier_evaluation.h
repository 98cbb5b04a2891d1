// Options that the evaluations of encoders with a classification head have in common.
#pragma once

#include <string>

#include "tools/commands/classifier_run.h"

namespace gyre {

struct ClassifierEvaluation : ClassifierRun {
  Path input;
  std::string on_bad_line = "default";

  void add_input_rows(OptionTable& table, const std::string& input_help);
  // `item` is what is truncated, such as "pair"; `lines` are the lines of the input, such as "rows".
  void add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines);
};

}  // namespace gyre
