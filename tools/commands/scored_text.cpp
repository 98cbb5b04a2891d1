#include "tools/commands/scored_text.h"

#include <algorithm>
#include <utility>

#include "gyre/data/text/document_options.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/language/language_data.h"
#include "tools/command_line/messages.h"
#include "tools/commands/text_progress.h"
#include "tools/options/model_choice.h"

namespace gyre {

namespace {

struct TrainedDocuments : ScoredDocuments {
  bool is_of_run = false;  // whether the run that trained the model is known
};

// The options of the run that trained the model. A run of an earlier version has no option for line ends and put
// nothing between lines.
TrainedDocuments trained(const ScoredDocuments& given, const Path& model, const std::string& checkpoint) {
  TrainedDocuments options{given};
  if (const auto state = find_run_state(model, checkpoint)) {
    options.is_of_run = true;
    const auto option = [&](const std::string& name, const std::string& otherwise) {
      const std::string* found = state->options.find(name);
      return found == nullptr ? otherwise : *found;
    };
    if (options.documents.empty()) options.documents = option("documents", "blank-line");
    if (!options.line_ends)
      options.line_ends = parse_enum<LineEnds>("--line-ends", option(std::string(kLineEndsOption), "none"));
  }
  if (options.documents.empty()) options.documents = "blank-line";
  return options;
}

// Says that the tokens of a store are not those that the model was trained to predict.
void print_other_line_ends(const TokenStore& store, const TrainedDocuments& used) {
  const LineEnds has = store.line_ends().value_or(LineEnds::none);
  if (!used.is_of_run || used.documents == "whole" || has == used.line_ends) return;
  const std::string_view expected = enum_name(*used.line_ends);
  print_message(concat("line ends: ", enum_name(has), ", as ", store.name(), " was built; the run was trained with ",
                       expected, ", so the model does not expect this text: gyre data build --line-ends ", expected,
                       " builds what it expects"));
}

}  // namespace

Documents open_scored_documents(const ScoredDocuments& options, const Path& model, const std::string& checkpoint,
                                const std::vector<Path>& inputs, const Vocabulary& vocabulary, bool quiet) {
  const TrainedDocuments used = trained(options, model, checkpoint);
  TextProgress progress(quiet);
  DocumentOptions read{.end = parse_document_end(used.documents),
                       .text_field = used.text_field,
                       .on_bad_line = used.on_bad_line,
                       .on_progress = progress.callback()};
  TextInputs files(inputs);
  const bool has_text = std::any_of(files.begin(), files.end(),
                                    [](const TextInput& file) { return file.kind() != TextKind::token_store; });
  // A token store keeps the line ends that it has, unless others are asked for.
  if (read.end != DocumentEnd::whole && (has_text || options.line_ends)) read.line_ends = used.line_ends;
  Documents documents = open_documents(vocabulary, std::move(files), read);
  progress.clear();
  if (quiet) return documents;
  if (!documents.report && !options.line_ends) print_other_line_ends(documents.store, used);
  if (!documents.report) return documents;
  if (options.documents.empty() && used.is_of_run)
    print_message(concat("documents: ", used.documents, " (--documents of the run)"));
  if (!options.line_ends && read.end == DocumentEnd::blank_line) {
    const LineEnds line_ends = documents.store.line_ends().value_or(LineEnds::none);
    print_message(concat("line ends: ", enum_name(line_ends), " (",
                         used.is_of_run ? "--line-ends of the run" : "what the vocabulary can write", ")"));
  }
  for (const LineReport& file : documents.report->files) print_message(file.describe());
  return documents;
}

void ScoredText::add_rows(OptionTable& table) {
  table.add("--model,-m", model, "PATH",
            "a run of gyre train lm or gyre import, a checkpoint in it or a model.safetensors");
  table.add("--input,-i", inputs, "FILE...",
            "text, JSON lines (also compressed), folders, patterns, or token stores from gyre data build --documents");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--checkpoint", checkpoint, "NAME", "checkpoint of a run: best, last, average or step-...; default: best");
  table.add("--vocab,-v", vocabulary, "FILE", "vocabulary to use instead of the run's own copy");
  table.add(documents_option(&documents.documents, "; with whole, its </s> counts too; default: as in training"));
  table.add(line_ends_option(&documents.line_ends, "as in training"));
  table.add(text_field_option(&documents.text_field));
  table.add_enum("--on-bad-line", documents.on_bad_line,
                 "handling of bad lines; default: error for invalid UTF-8 and bad JSON, skip for empty lines");
  bos.add_row(table);
}

void ScoredText::complete(const OptionTable& table) {
  for (const char* name : {"on-bad-line", "line-ends"})
    table.reject_unused(name, documents.documents != "whole", "--documents is whole");
}

Documents ScoredText::open(const Vocabulary& with) const {
  if (!quiet) print_model_choice(model, checkpoint);
  return open_scored_documents(documents, model, checkpoint, inputs, with, quiet);
}

}  // namespace gyre
