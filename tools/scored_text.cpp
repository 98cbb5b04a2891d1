#include "tools/scored_text.h"

#include <cstdio>

namespace gyre {

void ScoredText::add_rows(OptionTable& table) {
  table.add("--model,-m", model, "PATH", "a run of gyre train lm, a checkpoint in it or a model.safetensors");
  table.add("--input,-i", inputs, "FILE...", "text files, or one token store from gyre data build --documents");
  for (const char* name : {"model", "input"}) table.required(name);
  table.add("--checkpoint", checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--vocab,-v", vocabulary, "FILE", "another vocabulary than the run's own copy");
  table.add_choice(
      "--documents", documents, {"blank-line", "line", "whole"},
      "where a document ends in text; whole: with its file, every byte of which counts, and so does its one "
      "</s>");
  table.add_choice("--on-bad-line", on_bad_line, {"default", "error", "skip"},
                   "default: error for bad UTF-8, skip for empty lines");
}

void ScoredText::reject_idle(const OptionTable& table) const {
  table.reject_idle("on-bad-line", documents != "whole", "--documents is whole");
}

Documents ScoredText::open(const Vocabulary& with) const {
  Documents documents = open_documents(with, inputs, document_end(), parse_on_bad_line(on_bad_line), true);
  if (documents.report && !quiet) {
    for (const LineReport& file : documents.report->files) std::fprintf(stderr, "%s\n", file.describe().c_str());
  }
  return documents;
}

}  // namespace gyre
