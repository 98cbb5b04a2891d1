// gyre import: creates a run directory from a model of another program.
#include <iostream>
#include <memory>

#include "gyre/train/pretrained/hugging_face.h"
#include "tools/options/tokenizer_rows.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ImportArgs {
  Path from, output;
  TokenizerChoice tokenizer;
  bool overwrite = false;
};

void print_left_out(const std::string& why, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    std::cerr << (i == 0 ? "skipped, because " + why + ": " : ", ") << names[i] << (i + 1 == names.size() ? "\n" : "");
}

int import_model(const ImportArgs& args) {
  const HuggingFaceModel imported = read_hugging_face(args.from, args.tokenizer);
  const std::string made = write_imported_run(imported, args.from, args.output, args.overwrite);
  std::cerr << "read " << args.from.string() << ": " << imported.tensors.read << " tensors\n";
  print_left_out("the model has no such head", imported.tensors.of_other_heads);
  print_left_out("they duplicate other tensors", imported.tensors.repeats);
  for (const std::string& note : imported.notes) std::cerr << note << '\n';
  std::cerr << "made " << made << '\n';
  return 0;
}

}  // namespace

void add_import_command(Program& program) {
  auto args = std::make_shared<ImportArgs>();
  OptionTable& table = program.command("import", "import a model of Hugging Face's transformers as a run directory",
                                       [args] { return import_model(*args); });
  table.add_custom("--from", 2, 2, "hf DIRECTORY",
                   "format and directory with config.json, safetensors and vocab.txt of BertForMaskedLM, "
                   "NezhaForMaskedLM, RoFormerForMaskedLM or their sequence classification variants, or of a decoder: "
                   "Llama, Mistral, Qwen2, Qwen3, GPT-NeoX, GPT-2",
                   [args](const std::vector<std::string>& values) {
                     OptionTable::chosen_word(values.front(), {"hf"});
                     args->from = values.back();
                   });
  table.required("from");
  table.add("--output,-o", args->output, "DIRECTORY", "run directory to create");
  table.required("output");
  add_tokenizer_rows(table, args->tokenizer);
  table.add_flag("--overwrite", args->overwrite, "replace the run in the directory");
}

}  // namespace gyre
