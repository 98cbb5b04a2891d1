// gyre export: writes a trained model in the format of another program.
#include <memory>

#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/pretrained/trained_task.h"
#include "gyre/train/tasks/matching/match_task.h"
#include "tools/command_line/messages.h"
#include "tools/commands/model_card.h"
#include "tools/options/model_choice.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct ExportArgs {
  Path model, output;
  std::string to, checkpoint;
  CardOptions card;
  bool overwrite = false;
};

// The names of the classes of a classifier; none if the run records none, as a run of gyre train match.
std::vector<std::string> classes_of(const Path& run) {
  if (!std::filesystem::exists(task_path(run)) || is_match_task(run)) return {};
  return read_task(run).format.classes;
}

template <class Model>
void export_as(const ExportArgs& args, const Path& run) {
  const auto model = load_model<Model>(args.model, args.checkpoint, {});
  print_model_choice(args.model, args.checkpoint);
  std::shared_ptr<const Vocabulary> vocabulary;
  if (has_vocabulary(run)) vocabulary = load_run_vocabulary(run, {}, vocabulary_size(model->config()));
  ExportOptions options{.overwrite = args.overwrite, .classes = classes_of(run)};
  // Imported models have no training length.
  if (const auto length = trained_option(args.model, args.checkpoint, "max-length"))
    options.trained_length = std::stoi(*length);
  options.complete = [&](const Path& directory) {
    const Path generation = run / kGenerationConfigFile;  // an imported model keeps its own
    if (std::filesystem::exists(generation)) write_file(directory / kGenerationConfigFile, read_file(generation));
    write_file(directory / "README.md", model_card({.path = args.model,
                                                    .checkpoint = args.checkpoint,
                                                    .config = directory / "config.json",
                                                    .description = encoder_of(model->config()).describe(),
                                                    .parameters = model->parameters().elements(),
                                                    .vocabulary = vocabulary.get()},
                                                   args.card));
  };
  print_message(concat("made ", write_hugging_face(args.output, *model, vocabulary.get(), options)));
}

int export_model(const ExportArgs& args) {
  args.card.validate();
  const Path run = find_run(args.model);
  require(model_kind(run) != EncoderDecoderConfig::kModel, "[--model] ", run.string(),
          ": translation models cannot be exported: gyre translate reads the run, and other programs can read its "
          "weights in checkpoints/last/model.safetensors");
  if (model_kind(run) == ClassifierConfig::kModel) {
    export_as<SequenceClassifier>(args, run);
  } else {
    export_as<EncoderOnly>(args, run);
  }
  return 0;
}

}  // namespace

void add_export_command(Program& program) {
  auto args = std::make_shared<ExportArgs>();
  OptionTable& table = program.command("export", "export a trained model to Hugging Face's transformers",
                                       [args] { return export_model(*args); });
  table.add_choice("--to", args->to, {"hf"}, "format");
  table.required("to");
  add_model_rows(table, args->model, args->checkpoint);
  table.add(
      "--output,-o", args->output, "DIRECTORY",
      "directory for config.json, model.safetensors and README.md (the model card); also for the vocabulary, "
      "vocab.txt of WordPiece, tokenizer.model of SentencePiece or else tokenizer.json, and tokenizer_config.json; of "
      "a decoder also generation_config.json");
  table.required("output");
  table.add("--title", args->card.title, "TEXT", "heading of the model card; default: the name of the run");
  table.add("--language", args->card.language, "CODE",
            "language in the model card, such as en; default: none is named");
  table.add("--license", args->card.license, "NAME", "license in the model card, such as mit; default: none is named");
  table.add_flag("--overwrite", args->overwrite,
                 "replace the model and the model card in the directory; other files stay");
}

}  // namespace gyre
