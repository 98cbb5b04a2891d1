#include "tools/scored_text.h"

#include "gyre/train/pretrained/trained_model.h"
#include "tools/messages.h"
#include "tools/options/model_choice.h"

namespace gyre {

std::string trained_documents(const Path& model, const std::string& checkpoint, const std::vector<Path>& inputs,
                              bool quiet) {
  const auto trained = trained_option(model, checkpoint, "documents");
  if (!trained) return "blank-line";
  if (!quiet && !TokenStore::recognizes(inputs.front()))
    print_message(concat("documents: ", *trained, " (--documents of the run)"));
  return *trained;
}

void ScoredText::add_rows(OptionTable& table) {
  table.add("--model,-m", model, "PATH", "a run of gyre train lm, a checkpoint in it or a model.safetensors");
  table.add("--input,-i", inputs, "FILE...", "text files, or one token store from gyre data build --documents");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--checkpoint", checkpoint, "NAME", "checkpoint of a run: best, last, average or step-...; default: best");
  table.add("--vocab,-v", vocabulary, "FILE", "vocabulary to use instead of the run's own copy");
  table.add_choice(
      "--documents", documents, {"blank-line", "line", "whole"},
      "document boundaries in text files; whole: one document per file, every byte of which counts, and so does its "
      "</s>; default: as in training");
  table.add_choice("--on-bad-line", on_bad_line, {"default", "error", "skip"},
                   "handling of bad lines; default: error for invalid UTF-8, skip for empty lines");
}

void ScoredText::complete(const OptionTable& table) {
  if (documents.empty()) documents = trained_documents(model, checkpoint, inputs, quiet);
  table.reject_unused("on-bad-line", documents != "whole", "--documents is whole");
}

Documents ScoredText::open(const Vocabulary& with) const {
  if (!quiet) print_model_choice(model, checkpoint);
  Documents read = open_documents(with, inputs, parse_document_end(documents), parse_on_bad_line(on_bad_line), true);
  if (read.report && !quiet) {
    for (const LineReport& file : read.report->files) print_message(file.describe());
  }
  return read;
}

}  // namespace gyre
