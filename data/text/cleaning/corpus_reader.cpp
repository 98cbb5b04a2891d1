#include "gyre/data/text/cleaning/corpus_reader.h"

#include "gyre/core/counted.h"
#include "gyre/core/error.h"

namespace gyre {

CorpusReader::CorpusReader(std::vector<Path> sources, std::vector<Path> targets, bool keep_unpaired)
    : sources_(std::move(sources)),
      targets_(std::move(targets)),
      keep_unpaired_(keep_unpaired),
      pairs_of_files_(sources_.size()) {
  if (sources_.empty()) throw UsageError("--source: expected a file");
  if (!targets_.empty() && targets_.size() != sources_.size())
    throw UsageError("--target: expected as many files as --source, ", sources_.size(), ", got ", targets_.size());
  open();
}

void CorpusReader::open() {
  for (int side = 0; side < sides(); ++side) streams_[size_t(side)] = std::make_unique<LineStream>(path(file_, side));
}

bool CorpusReader::next(CorpusRow& row) {
  while (!read(row)) {
    if (file_ + 1 == sources_.size()) return false;
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

// Reads a row of the current files.
bool CorpusReader::read(CorpusRow& row) {
  std::array<bool, 2> found{};
  for (size_t side = 0; side < size_t(sides()); ++side) {
    found[side] = streams_[side]->next(row.text[side]);
    if (found[side]) bytes_ += row.text[side].size();
  }
  if (sides() == 1) found[1] = found[0];
  if (!found[0] && !found[1]) return false;
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
