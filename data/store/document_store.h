// Builds a token store of documents from monolingual text. An empty sentence follows the last sentence of each
// document. The ids of all sentences are contiguous, so a document, or any part of one, is a range of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/document_text.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

// ---- Splits a token store of documents into a training part and a held-out validation part -------------------------

enum class Part : uint8_t { training, validation };

// Returns the part that document `number` belongs to in a store of several documents.
Part part_of_document(uint64_t number, double validation_share);

struct TokenRange {
  uint64_t begin, end;
  bool empty() const { return begin >= end; }
};

class StorePart {
 public:
  // A validation share of 0 leaves everything to training. Throws unless the share is in [0, 1).
  StorePart(const TokenStore& store, double validation_share, Part part);

  bool has(uint64_t document) const;
  // Clips a document's token range to the part. All of it remains, unless the store is a single document that is split.
  TokenRange clip(TokenRange tokens) const;

  // Calls f(tokens, ends) for each document of the part, with its tokens in the part and whether its end is among them.
  // Returns the number of documents of both parts.
  template <class F>
  uint64_t for_each_document(const F& f) const {
    uint64_t begin = 0, number = 0;
    for (size_t i = 0; i <= store_->size(); ++i) {
      if (i < store_->size() && store_->length(i, 0) > 0) continue;
      const uint64_t end = store_->first_token(i);
      if (end == begin) continue;
      const TokenRange own = clip({begin, end});
      if (has(number++) && !own.empty()) f(own, own.end == end);
      begin = end;
    }
    return number;
  }

  const TokenStore& store() const { return *store_; }
  double validation_share() const { return validation_share_; }

 private:
  const TokenStore* store_;
  double validation_share_;
  Part part_;
  bool is_divided_;   // whether the store is a single document that is split between the parts
  TokenRange range_;  // range of the store's tokens that contains the part
};

// How text becomes documents. With LineEnds::keep and LineEnds::space, a document is encoded as one text, as other
// tokenizers encode it, and with `keep` its sentences end after the tokens of line ends; with LineEnds::none, each line
// is encoded by itself. With DocumentEnd::whole, sentences are chunks of equal size, and the vocabulary must decode
// them to the same bytes: a byte vocabulary takes any file, others take UTF-8.
struct DocumentOptions {
  DocumentEnd end = DocumentEnd::blank_line;
  std::optional<LineEnds> line_ends{};  // nullopt: default_line_ends() of the vocabulary
  std::string text_field = "text";      // field of JSON lines
  OnBadLine on_bad_line = OnBadLine::by_kind;
  bool accepts_sentences = false;  // read a store of sentences as one document, as earlier versions did
  // Takes the bytes of the files that were read, and all of them, or 0 if their number is unknown.
  std::function<void(uint64_t bytes, uint64_t all)> on_progress{};
};

// Whether decoding what the vocabulary encodes gives the line ends back.
bool keeps_line_ends(const Vocabulary& vocabulary);
// LineEnds::keep if the vocabulary keeps line ends, else LineEnds::none.
LineEnds default_line_ends(const Vocabulary& vocabulary);

// The ids of a whole document as training reads it: encoded as one text, or line by line with LineEnds::none.
std::vector<int32_t> encode_document(const Vocabulary& vocabulary, std::string_view text, LineEnds line_ends);

// Appends documents to a store of one side. If line ends are kept, a sentence ends after each token with line ends.
class DocumentAppender {
 public:
  // Throws a UsageError if the vocabulary loses line ends that are to be kept. With `whole`, no sentence ends at them.
  DocumentAppender(const Vocabulary& vocabulary, LineEnds line_ends, TokenStoreWriter writer, bool whole = false);

  // Appends the next ids of the open document, and the size of the text that they are.
  void add(std::span<const int32_t> ids, std::string_view text);
  void end_document();  // does nothing if no document is open
  // As TokenStoreWriter::add_place().
  void add_place(uint64_t ahead, uint64_t file, uint64_t offset) { writer_.add_place(ahead, file, offset); }
  bool has_places() const { return writer_.has_places(); }
  bool ends_sentence(int32_t id) const { return !line_ends_of_.empty() && line_ends_of_[size_t(id)] > 0; }
  uint64_t documents() const { return documents_; }  // those that have ended
  TokenStore finish() { return writer_.finish(); }

 private:
  void add_sentence(std::span<const int32_t> ids, std::string_view text);

  std::vector<uint32_t> line_ends_of_;  // number of line ends in each token; empty if no sentence ends at them
  TokenStoreWriter writer_;
  bool is_open_ = false;  // whether the document has a sentence
  uint64_t documents_ = 0;
};

struct DocumentReport {
  std::vector<LineReport> files;
  uint64_t documents = 0;
};

// Writes a store of the files in this order, atomically. Files may have any size, and no line is too long, because
// samples are cut to length (document_batch.h). Documents over a mebibyte are encoded in parts that end at a line end.
// Throws an Error if the policy makes a bad line an error, or if no document remains, and a UsageError if the
// vocabulary loses line ends that the options keep.
DocumentReport build_document_store(const Vocabulary& vocabulary, TextInputs files, const Path& output,
                                    const DocumentOptions& options);

struct Documents {
  TokenStore store;
  // For text files only, because a store was checked when it was built.
  std::optional<DocumentReport> report = std::nullopt;
};

// Opens the training or validation data of a language model: stores with one side, which must have been built with this
// vocabulary, and text files, which become a store in memory (2 bytes per token up to 65,536 pieces). Several are one
// corpus, in the given order. The options apply to text files; a store must have documents, and the line ends of the
// options, if given.
Documents open_documents(const Vocabulary& vocabulary, TextInputs files, const DocumentOptions& options);

// Returns whether size_of_part() is the size of the text that was encoded: the store has the sizes of its text, or it
// is of an earlier version and the vocabulary keeps every byte.
bool has_exact_size(const TokenStore& store, const Vocabulary& vocabulary);
// Returns the size of the text of one part. If the part begins inside a sentence, decodes the tokens before its
// beginning and subtracts their size. A store of an earlier version has no sizes; its text is then the decoded one.
TextSize size_of_part(const StorePart& part, const Vocabulary& vocabulary);

// Returns the number of documents in the store: 0 for a store of pairs or of sentences without documents.
uint64_t count_documents(const TokenStore& store);

}  // namespace gyre
