// Reads a data set, text files or a token store, for a check: keys to find equal sentences, faults of lines, and ids.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "gyre/data/checking/line_faults.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/text_hash.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct CheckedRow {
  struct Side {
    LineFaults faults;
    TextHash key;              // equal for equal sentences; only of usable rows
    std::vector<int32_t> ids;  // ids without </s>; only of measured rows
  };
  uint64_t line = 0;
  bool is_unpaired = false;
  bool is_usable = false;    // no side is unpaired, invalid or blank
  bool is_measured = false;  // has ids
  std::array<Side, 2> sides;
};

// The sentences whose equality keys show: text up to case and white space (fold_line()), or ids. Stores have only ids.
enum class RowKeys : uint8_t { text, ids };

class CheckedRows {
 public:
  // files: a source and a target file, or one store of pairs. every: encodes each row whose line number is divisible by
  // it; with RowKeys::ids all rows are encoded. Throws Error if the files cannot be read.
  CheckedRows(const std::vector<Path>& files, const Vocabulary& vocabulary, RowKeys keys, uint64_t every);

  // Reads the next rows with all threads; false at the end. The rows do not depend on the number of threads.
  bool next(std::vector<CheckedRow>& rows);
  bool is_store() const { return store_.has_value(); }
  const CorpusReader& text() const { return *text_; }  // text files, as far as they have been read

 private:
  void examine_text(const CorpusRow& text, CheckedRow& row) const;
  void examine_store(size_t sentence, CheckedRow& row) const;

  const Vocabulary& vocabulary_;
  RowKeys keys_;
  uint64_t every_;
  std::optional<TokenStore> store_;
  size_t sentence_ = 0;  // next of the store
  std::unique_ptr<CorpusReader> text_;
  std::vector<CorpusRow> block_;
};

}  // namespace gyre
