#include "tools/scored_text.h"

#include <cstdio>

#include "tools/model_choice.h"
#include "train/trained_model.h"

namespace gyre {

std::string trained_documents(const Path& model, const std::string& checkpoint, const std::vector<Path>& inputs,
                              bool quiet) {
  const auto trained = trained_option(model, checkpoint, "documents");
  if (!trained) return "blank-line";
  if (!quiet && !TokenStore::recognises(inputs.front()))
    std::fprintf(stderr, "documents: %s, the run's own --documents\n", trained->c_str());
  return *trained;
}

void ScoredText::add_rows(OptionTable& table) {
  table.add("--model,-m", model, "PATH", "a run of gyre train lm, a checkpoint in it or a model.safetensors");
  table.add("--input,-i", inputs, "FILE...", "text files, or one token store from gyre data build --documents");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--checkpoint", checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--vocab,-v", vocabulary, "FILE", "another vocabulary than the run's own copy");
  table.add_choice(
      "--documents", documents, {"blank-line", "line", "whole"},
      "where a document ends in text; whole: with its file, every byte of which counts, and so does its one "
      "</s>; absent: as the model was trained");
  table.add_choice("--on-bad-line", on_bad_line, {"default", "error", "skip"},
                   "default: error for bad UTF-8, skip for empty lines");
}

void ScoredText::complete(const OptionTable& table) {
  if (documents.empty()) documents = trained_documents(model, checkpoint, inputs, quiet);
  table.reject_idle("on-bad-line", documents != "whole", "--documents is whole");
}

Documents ScoredText::open(const Vocabulary& with) const {
  if (!quiet) print_model_choice(model, checkpoint);
  Documents read = open_documents(with, inputs, parse_document_end(documents), parse_on_bad_line(on_bad_line), true);
  if (read.report && !quiet) {
    for (const LineReport& file : read.report->files) std::fprintf(stderr, "%s\n", file.describe().c_str());
  }
  return read;
}

}  // namespace gyre
