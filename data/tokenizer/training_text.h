// How the trainings of vocabularies read their text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gyre/data/text/document_text.h"
#include "gyre/data/text/line_report.h"

namespace gyre {

// Takes the merges that were learned so far, and the most that there can be.
using OnMerge = std::function<void(uint64_t merges, uint64_t most)>;

// By default, every line is a text by itself, and so is every line of the texts in JSON lines.
struct TrainingText {
  DocumentEnd end = DocumentEnd::line;
  LineEnds line_ends = LineEnds::none;
  std::string text_field = "text";  // field of JSON lines
  OnBadLine on_bad_line = OnBadLine::by_kind;
  // Takes the bytes of the files that were read, and all of them, or 0 if their number is unknown.
  std::function<void(uint64_t bytes, uint64_t all)> on_progress{};
  OnMerge on_merge{};  // report after the text was read; SentencePiece has none

  // Long documents are read in parts, so that threads share them.
  DocumentFormat format() const {
    return {.end = end, .line_ends = line_ends, .text_field = text_field, .part_bytes = size_t{1} << 20};
  }
};

}  // namespace gyre
