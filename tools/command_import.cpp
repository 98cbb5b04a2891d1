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

void print_left_out(const std::string& why, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    std::cerr << (i == 0 ? "left out, as " + why + ": " : ", ") << names[i] << (i + 1 == names.size() ? "\n" : "");
}

int import_model(const Import& call) {
  const HuggingFaceModel imported = read_hugging_face(call.from);
  const std::string made = write_imported_run(imported, call.from, call.output, call.overwrite);
  std::cerr << "read " << call.from.string() << ": " << imported.tensors.read << " tensors\n";
  print_left_out("the model has no such head", imported.tensors.of_other_heads);
  print_left_out("they repeat what was read", imported.tensors.repeats);
  for (const std::string& note : imported.notes) std::cerr << note << '\n';
  std::cerr << "made " << made << '\n';
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
