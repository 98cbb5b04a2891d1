// Reads a data set, text files or a token store, for a check: keys to find equal sentences, faults of lines, ids, and
// the statistics of the set.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/data/checking/finding.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/cleaning/corpus_reader.h"
#include "gyre/data/text/cleaning/text_comparison.h"
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

// Measures a data set for a check: faults, repeated sentences, lengths in pieces and unknown pieces.
struct SideStatistics {
  Path path;
  uint64_t lines = 0, crlf_lines = 0;
  bool has_byte_order_mark = false;  // a byte order mark at the beginning
  std::array<LineList, kLineFaults> faults;
  // Counts of measured pairs, without </s>:
  uint64_t pieces = 0, unknown = 0;
  LineList with_unknown;
  std::vector<uint64_t> frequencies;  // count of each piece of the vocabulary

  const LineList& of(LineFault fault) const { return faults[size_t(fault)]; }
};

enum class SetRole : uint8_t { train, valid, test };

struct SetStatistics {
  SetRole role = SetRole::train;
  std::string name;  // "training set"
  bool is_store = false;
  std::array<SideStatistics, 2> sides;
  uint64_t pairs = 0;       // usable ones: complete, valid UTF-8 and not blank
  LineList unpaired;        // lines of the longer file
  LineList copies;          // pairs with equal sides
  LineList duplicates;      // pairs that occurred before
  uint64_t every = 1;       // measures the pairs whose line number is divisible by this
  LineList over_length;     // measured pairs over max_length
  LineList ratio_outliers;  // measured pairs one side of which has over kOutlierRatio times the pieces of the other
  std::vector<std::array<uint32_t, 2>> lengths;  // tokens of measured pairs, including </s>

  static constexpr double kOutlierRatio = 3;
  static constexpr uint64_t kOutlierTokens = 12;  // shorter sides are no outliers, because their ratio is arbitrary

  uint64_t measured() const { return lengths.size(); }
  // "train.de:12" for a side, "train.en + train.de:12" for pairs, "train.tok:12" for a store.
  std::string place(int side, uint64_t line) const {
    return sides[size_t(side)].path.string() + ":" + std::to_string(line);
  }
  std::string place(uint64_t line) const;
  std::vector<std::string> places(const LineList& list) const;
  std::vector<std::string> places(int side, const LineList& list) const;
};

struct DataSet {
  SetRole role;
  std::string name;
  std::vector<Path> files;  // a source and a target file, or one token store
};

struct MeasureOptions {
  RowKeys keys = RowKeys::text;
  int max_length = 0;         // tokens of a side, including </s>; 0: no limit
  uint64_t sample_lines = 0;  // measures about this many pairs, evenly spread; 0: all
};

// Calls see(row) for each usable row, in order.
SetStatistics measure_set(const DataSet& set, const Vocabulary& vocabulary, const MeasureOptions& options,
                          const std::function<void(const CheckedRow&)>& see);

}  // namespace gyre
