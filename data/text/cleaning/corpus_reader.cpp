#include "gyre/data/text/cleaning/corpus_reader.h"

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"

namespace gyre {

CorpusReader::CorpusReader(std::vector<Path> sources, std::vector<Path> targets, bool keep_unpaired,
                           const std::optional<DocumentFormat>& documents)
    : has_targets_(!targets.empty()), keep_unpaired_(keep_unpaired), inputs_{TextInputs(sources), TextInputs(targets)} {
  if (inputs_[0].empty()) throw UsageError("--source: expected a file");
  if (has_targets_ && inputs_[1].size() != inputs_[0].size())
    throw UsageError("--target: expected as many files as --source, ", inputs_[0].size(), ", got ", inputs_[1].size());
  for (size_t side = 0; side < 2; ++side) {
    for (const TextInput& input : inputs_[side]) {
      paths_[side].push_back(input.name());
      input.require_documents();
      if (input.kind() != TextKind::json_lines) continue;
      require(!has_targets_, "[data] ", input.name(), ": expected lines of text for pairs, got JSON lines");
      has_json_ = true;
    }
  }
  pairs_of_files_.resize(inputs_[0].size());
  if (documents || has_json_) {
    DocumentFormat format = documents.value_or(DocumentFormat());
    format.keeps_json = true;
    format.any_bytes = true;  // the filter drops such a document
    documents_ = std::make_unique<DocumentText>(std::move(inputs_[0]), std::move(format), OnBadLine::skip);
  } else {
    open();
  }
}

void CorpusReader::open() {
  for (int side = 0; side < sides(); ++side)
    streams_[size_t(side)] = std::make_unique<LineStream>(inputs_[size_t(side)][file_]);
  file_report_ = {};
  file_report_.files = path(file_, 0).string();
  if (sides() == 2) file_report_.files += " + " + path(file_, 1).string();
}

bool CorpusReader::next(CorpusRow& row) {
  while (!read(row)) {
    if (documents_ || file_ + 1 == inputs_[0].size()) return false;
    ++file_;
    open();
  }
  return true;
}

bool CorpusReader::next(std::vector<CorpusRow>& rows, size_t most, uint64_t bytes) {
  const uint64_t begin = bytes_;
  size_t count = 0;
  rows.resize(most);
  while (count < most && bytes_ - begin < bytes && next(rows[count])) ++count;
  rows.resize(count);
  return count > 0;
}

bool CorpusReader::read_document(CorpusRow& row) {
  DocumentPart part;
  if (!documents_->next(part)) return false;
  row.pair = ++pairs_;
  row.line = part.line;
  row.file = part.file;
  row.unpaired_side = 0;
  row.text[0] = std::move(part.text);
  row.json = std::move(part.json);
  bytes_ += row.text[0].size();
  ++pairs_of_files_[row.file];
  return true;
}

// Reads a row of the current files.
bool CorpusReader::read(CorpusRow& row) {
  if (documents_) return read_document(row);
  std::array<bool, 2> found{};
  for (size_t side = 0; side < size_t(sides()); ++side) {
    found[side] = streams_[side]->next(row.text[side]);
    if (found[side]) bytes_ += row.text[side].size();
  }
  if (sides() == 1) found[1] = found[0];
  if (!found[0] && !found[1]) {
    file_report_.require_no_json();
    return false;
  }
  for (size_t side = 0; side < size_t(sides()); ++side)
    if (found[side]) file_report_.look_at(row.text[side], streams_[side]->line());
  row.file = file_;
  row.unpaired_side = found[0] ? 0 : 1;
  row.line = streams_[size_t(row.unpaired_side)]->line();
  row.pair = 0;
  if (found[0] && found[1]) {
    row.pair = ++pairs_;
    ++pairs_of_files_[file_];
  } else if (!keep_unpaired_) {
    fail_unpaired(row.unpaired_side);
  }
  return true;
}

void CorpusReader::fail_unpaired(int longer) {
  LineStream& rest = *streams_[size_t(longer)];
  for (std::string line; rest.next(line);) continue;
  throw Error("[data] ", path(file_, 0).string(), " has ", counted(streams_[0]->line(), "line"), ", ",
              path(file_, 1).string(), " has ", streams_[1]->line(),
              "; expected as many; --unpaired drop leaves out the lines without a partner");
}

}  // namespace gyre
