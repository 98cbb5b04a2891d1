// Text of one language becomes a token store of documents: its sentences one after another, and an empty one after the
// last of each document. As all ids lie in one row, a document is a range of it, and so is any part of one.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "data/line_report.h"
#include "data/store_part.h"
#include "data/vocabulary.h"

namespace gyre {

// Where a document ends: at a blank line (a line is a sentence), or with its line (a document is one sentence). The end
// of a file ends it too. whole: there alone, and the file is a stream, whose every byte counts (text_stream.h); its
// sentences are pieces of one size. The vocabulary must give the stream back, so bytes take any file, and others UTF-8.
enum class DocumentEnd : uint8_t { blank_line, line, whole };

DocumentEnd parse_document_end(std::string_view text);  // "blank-line", "line" or "whole"; else UsageError

struct DocumentReport {
  std::vector<LineReport> files;
  uint64_t documents = 0;
};

// The files one after another, of any size: no line is too long, as samples are cut to length (document_plan.h). The
// store appears under its name whole or not at all; an Error when a bad line is one, or no document is left.
DocumentReport build_document_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                                    DocumentEnd end, OnBadLine policy);

struct TextSize {
  uint64_t characters = 0, bytes = 0;

  static TextSize of(std::string_view text);
  TextSize& operator+=(const TextSize& other);
  TextSize& operator-=(const TextSize& other);  // nothing becomes less than 0
};

struct Documents {
  TokenStore store;
  std::optional<DocumentReport> report;  // of text; a store was checked when it was built
  std::vector<TextSize> sizes;           // of each sentence of the store without its line end, where asked for
};

// What language models train on: one store of one side (checked to fit the vocabulary), or text files, which become a
// store in memory: 2 bytes a token up to 65,536 pieces. `end` and `policy` are for text only, and so is `with_sizes`,
// which fills Documents::sizes.
Documents open_documents(const Vocabulary& vocabulary, const std::vector<Path>& files, DocumentEnd end,
                         OnBadLine policy, bool with_sizes = false);

// The size of one part's text; the documents must have the sizes of their sentences. Where the part begins within a
// sentence, the tokens before that place are decoded and their size is subtracted.
TextSize size_of_part(const Documents& documents, const StorePart& part, const Vocabulary& vocabulary);

// Of the whole store; 0 for one of pairs, or of sentences alone.
uint64_t count_documents(const TokenStore& store);

}  // namespace gyre
