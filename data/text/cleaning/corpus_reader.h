// Reads a parallel or monolingual corpus of several files as one sequence of lines, or of documents.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/data/text/document_text.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

struct CorpusRow {
  uint64_t pair = 0;      // number in the whole corpus, from 1; 0: a line without a partner
  uint64_t line = 0;      // number in its file, from 1; the first one of a document
  size_t file = 0;        // index in the lists of files
  int unpaired_side = 0;  // side of a line without a partner
  std::array<std::string, 2> text;
  std::string json;  // the line of a document in JSON lines
};

class CorpusReader {
 public:
  // targets: as many files as sources, or none. Files whose numbers of lines differ are an Error once the shorter one
  // ends, or their last lines are rows without a partner if `keep_unpaired`.
  // documents: the rows of a corpus without targets are documents; JSON lines always are. Lines of documents that are
  // not UTF-8 and lines that are not JSON are skipped (reports()).
  CorpusReader(std::vector<Path> sources, std::vector<Path> targets, bool keep_unpaired,
               const std::optional<DocumentFormat>& documents = std::nullopt);

  bool next(CorpusRow& row);  // false at the end; reuses the memory of the row
  // Reads a block of at most `most` rows, which ends early with the row that reaches `bytes` bytes of text: blocks stay
  // small however long the lines are. False at the end; reuses the memory of the rows.
  bool next(std::vector<CorpusRow>& rows, size_t most, uint64_t bytes);
  int sides() const { return has_targets_ ? 2 : 1; }
  bool has_documents() const { return documents_ != nullptr; }
  bool has_json() const { return has_json_; }  // JSON lines, in any of the files
  // Counts of the files of documents: lines that were read and skipped so far.
  const std::vector<LineReport>& reports() const { return documents_->reports(); }
  uint64_t pairs() const { return pairs_; }
  uint64_t bytes() const { return bytes_; }  // bytes of the lines read so far, without line ends
  const Path& path(size_t file, int side) const { return paths_[size_t(side)][file]; }
  const LineStream& stream(int side) const { return *streams_[size_t(side)]; }  // the file that is being read
  // Number of pairs of each file so far.
  const std::vector<uint64_t>& pairs_of_files() const { return pairs_of_files_; }

 private:
  void open();
  bool read(CorpusRow& row);
  bool read_document(CorpusRow& row);
  [[noreturn]] void fail_unpaired(int unpaired_side);

  bool has_targets_, keep_unpaired_, has_json_ = false;
  std::array<std::vector<Path>, 2> paths_;  // files of each side
  std::array<TextInputs, 2> inputs_;
  std::unique_ptr<DocumentText> documents_;             // null: the rows are lines
  std::array<std::unique_ptr<LineStream>, 2> streams_;  // streams of the current files
  size_t file_ = 0;
  LineReport file_report_;  // report of the current files, if the rows are lines
  uint64_t pairs_ = 0, bytes_ = 0;
  std::vector<uint64_t> pairs_of_files_;
};

}  // namespace gyre
