// Builds a token store of documents from monolingual text. An empty sentence follows the last sentence of each
// document. The ids of all sentences are contiguous, so a document, or any part of one, is a range of tokens.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/store/store_part.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// The end of a document. The end of a file always ends a document.
//   blank_line: a document ends at a blank line; each line is a sentence.
//   line: each line is a document of one sentence.
//   whole: the file is one document, and all of its bytes are kept (text_stream.h). Its sentences are chunks of equal
//     size. The vocabulary must decode them to the same bytes: a byte vocabulary takes any file, others take UTF-8.
enum class DocumentEnd : uint8_t { blank_line, line, whole };

DocumentEnd parse_document_end(std::string_view text);  // "blank-line", "line" or "whole"; else UsageError

struct DocumentReport {
  std::vector<LineReport> files;
  uint64_t documents = 0;
};

// Writes a store of the files in this order, atomically. Files may have any size, and no line is too long, because
// samples are cut to length (document_plan.h). Throws an Error if the policy makes a bad line an error, or if no
// document remains.
DocumentReport build_document_store(const Vocabulary& vocabulary, const std::vector<Path>& files, const Path& output,
                                    DocumentEnd end, OnBadLine policy);

struct TextSize {
  uint64_t characters = 0, bytes = 0;

  static TextSize of(std::string_view text);
  TextSize& operator+=(const TextSize& other);
  TextSize& operator-=(const TextSize& other);  // clamps at 0
};

struct Documents {
  TokenStore store;
  std::optional<DocumentReport> report;  // for text files only, because a store was checked when it was built
  std::vector<TextSize> sizes;           // size of each sentence without its line end, if requested
};

// Opens the training or validation data of a language model: one store with one side, which must have been built with
// this vocabulary, or text files, which become a store in memory (2 bytes per token up to 65,536 pieces). `end`,
// `policy` and `with_sizes` apply to text files only. `with_sizes` fills Documents::sizes.
Documents open_documents(const Vocabulary& vocabulary, const std::vector<Path>& files, DocumentEnd end,
                         OnBadLine policy, bool with_sizes = false);

// Returns the size of the text of one part: from Documents::sizes or, if there are none, of the decoded sentences. If
// the part begins inside a sentence, decodes the tokens before its beginning and subtracts their size.
TextSize size_of_part(const Documents& documents, const StorePart& part, const Vocabulary& vocabulary);

// Returns the number of documents in the store: 0 for a store of pairs or of sentences without documents.
uint64_t count_documents(const TokenStore& store);

}  // namespace gyre
