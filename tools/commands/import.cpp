// gyre import: creates a run directory from a model of another program.
#include <memory>

#include "gyre/core/option_checks.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/peft.h"
#include "tools/command_line/messages.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ImportArgs {
  std::string format;
  Path from, output, base;
  TokenizerChoice tokenizer;
  bool overwrite = false;
  const OptionTable* table = nullptr;
};

// Prints what happened to some tensors.
void print_tensors(const std::string& what, const std::vector<std::string>& names) {
  if (!names.empty()) print_message(concat(what, ": ", first_names(names)));
}

int import_adapters(const ImportArgs& args) {
  for (const char* name : {"tokenizer", "dictionary"})
    args.table->reject_unused(name, false, "the adapters have the vocabulary of --base-model");
  expect(!args.base.empty(), "--base-model", "the run whose model the adapters belong to", "none");
  print_message(concat("made ", write_imported_adapters(args.from, args.base, args.output, args.overwrite)));
  return 0;
}

int import_model(const ImportArgs& args) {
  if (args.format == "peft") return import_adapters(args);
  args.table->reject_unused("base-model", false, "--from hf has the whole model");
  const HuggingFaceModel imported = read_hugging_face(args.from, args.tokenizer);
  const std::string made = write_imported_run(imported, args.from, args.output, args.overwrite);
  print_message(concat("read ", args.from.string(), ": ", imported.tensors.read, " tensors"));
  print_tensors("skipped, because the model has no such head", imported.tensors.of_other_heads);
  print_tensors("skipped, because they duplicate other tensors", imported.tensors.repeats);
  print_tensors("skipped, because the index of the shards does not list them", imported.tensors.unlisted);
  print_tensors("newly initialized, because the files have no head", imported.tensors.initialized);
  for (const std::string& note : imported.notes) print_message(note);
  print_message(concat("made ", made));
  return 0;
}

}  // namespace

void add_import_command(Program& program) {
  auto args = std::make_shared<ImportArgs>();
  OptionTable& table = program.command("import", "import a model of Hugging Face's transformers as a run directory",
                                       [args] { return import_model(*args); });
  args->table = &table;
  table.add_custom("--from", 2, 2, "hf|peft DIRECTORY",
                   "format and directory; peft: with adapter_config.json and adapter_model.safetensors of a LoRA; hf: "
                   "with config.json, safetensors and the files of a tokenizer: of "
                   "BertForMaskedLM, NezhaForMaskedLM, RoFormerForMaskedLM, their sequence classification variants or "
                   "bare encoders (BertModel), of a decoder: Llama, Mistral, Qwen2, Qwen3, GPT-NeoX, GPT-2, or of a "
                   "translation model: MarianMTModel",
                   [args](const std::vector<std::string>& values) {
                     args->format = chosen_word(values.front(), {"hf", "peft"});
                     args->from = values.back();
                   });
  table.required("from");
  table.add("--output,-o", args->output, "DIRECTORY", "run directory to create");
  table.required("output");
  table.add("--base-model", args->base, "DIRECTORY", "with --from peft: the run whose model the adapters belong to");
  table.add_options(args->tokenizer);
  table.add_flag("--overwrite", args->overwrite,
                 "replace the run in the directory; files that Gyre did not create stay");
}

}  // namespace gyre
