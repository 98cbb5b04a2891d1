// gyre import: a run directory from a model of another program.
#include <iostream>
#include <memory>

#include "tools/program.h"
#include "train/hugging_face.h"

namespace gyre {

namespace {

struct Import {
  Path from, output;
  bool overwrite = false;
};

int import_model(const Import& call) {
  const HuggingFaceModel imported = read_hugging_face(call.from);
  write_imported_run(imported, call.from, call.output, call.overwrite);
  for (const std::string& note : imported.notes) std::cerr << note << '\n';
  return 0;
}

}  // namespace

void add_import_command(Program& program) {
  auto call = std::make_shared<Import>();
  OptionTable& table = program.command("import", "make a run directory of a model of Hugging Face's transformers",
                                       [call] { return import_model(*call); });
  table.add_custom("--from", 2, 2, "hf DIRECTORY",
                   "config.json, safetensors and vocab.txt of BertForMaskedLM, RoFormerForMaskedLM or their forms for "
                   "classification",
                   [call](const std::vector<std::string>& values) {
                     OptionTable::chosen_word(values.front(), {"hf"});
                     call->from = values.back();
                   });
  table.required("from");
  table.add("--output,-o", call->output, "DIRECTORY", "the run directory");
  table.required("output");
  table.add_flag("--overwrite", call->overwrite, "replace the run that it holds");
}

}  // namespace gyre
