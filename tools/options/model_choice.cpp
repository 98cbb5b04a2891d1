#include "tools/options/model_choice.h"

#include "gyre/core/error.h"
#include "gyre/train/checkpoint/model_file.h"
#include "tools/command_line/messages.h"

namespace gyre {

void add_model_rows(OptionTable& table, Path& model, std::string& checkpoint) {
  table.add("--model,-m", model, "DIRECTORY", "run directory, a checkpoint in it, or its model.safetensors");
  table.required("model");
  add_checkpoint_row(table, checkpoint);
}

void add_checkpoint_row(OptionTable& table, std::string& checkpoint) {
  table.add(
      "--checkpoint", checkpoint, "NAME",
      "checkpoint of a run: best, last, average, a step-... directory or a path; default: best if there is one, else "
      "last");
}

void print_model_choice(const Path& model, const std::string& checkpoint) {
  print_message(concat("model: ", describe_model(model, checkpoint)));
}

}  // namespace gyre
