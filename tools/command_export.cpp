// gyre export: a trained model for another program.
#include <iostream>
#include <memory>

#include "tools/model_choice.h"
#include "tools/program.h"
#include "train/hugging_face.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct Export {
  Path model, output;
  std::string to, checkpoint;
  bool overwrite = false;
};

template <class Model>
void export_as(const Export& call, const Path& run) {
  const auto model = load_model<Model>(call.model, call.checkpoint, {});
  print_model_choice(call.model, call.checkpoint);
  std::shared_ptr<const Vocabulary> vocabulary;
  if (has_vocabulary(run)) vocabulary = load_run_vocabulary(run, {}, vocabulary_size(model->config()));
  const std::string made = write_hugging_face(call.output, *model, vocabulary.get(), call.overwrite);
  std::cerr << "made " << made << '\n';
}

int export_model(const Export& call) {
  const Path run = find_run(call.model);
  if (model_kind(run) == ClassifierConfig::kModel) {
    export_as<SequenceClassifier>(call, run);
  } else {
    export_as<EncoderOnly>(call, run);
  }
  return 0;
}

}  // namespace

void add_export_command(Program& program) {
  auto call = std::make_shared<Export>();
  OptionTable& table =
      program.command("export", "write a trained BERT or RoFormer as Hugging Face's transformers load it",
                      [call] { return export_model(*call); });
  table.add_choice("--to", call->to, {"hf"}, "whose form");
  table.required("to");
  table.add("--model,-m", call->model, "DIRECTORY", "a run directory, a checkpoint in it, or its model.safetensors");
  table.required("model");
  table.add(
      "--checkpoint", call->checkpoint, "NAME",
      "of the run: best, last, average, a step-... directory or a path; absent: best where there is one, else last");
  table.add("--output,-o", call->output, "DIRECTORY",
            "gets config.json, model.safetensors, vocab.txt and tokenizer_config.json");
  table.required("output");
  table.add_flag("--overwrite", call->overwrite, "replace the model that it holds");
}

}  // namespace gyre
