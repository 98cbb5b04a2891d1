#include "tools/commands/evaluate/classifier_evaluation.h"

#include "tools/options/model_choice.h"

namespace gyre {

void ClassifierEvaluation::add_input_rows(OptionTable& table, const std::string& input_help) {
  add_model_rows(table, model, checkpoint);
  table.add("--input,-i", input, "FILE", input_help);
  table.required("input");
}

void ClassifierEvaluation::add_reading_rows(OptionTable& table, const std::string& item, const std::string& lines) {
  add_length_row(table, item);
  table.add_choice("--on-bad-line", on_bad_line, {"default", "error", "skip"},
                   concat("handling of bad ", lines, "; default: skip for an empty text, else error"));
}

}  // namespace gyre
