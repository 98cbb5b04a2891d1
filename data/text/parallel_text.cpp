#include "gyre/data/text/parallel_text.h"

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

ParallelText::ParallelText(const std::vector<Path>& files, OnBadLine policy, BlankLines blank) : blank_(blank) {
  require(files.size() == 1 || files.size() == 2, "[data] expected one text file or two, got ", files.size());
  for (const Path& path : files) {
    report_.files += (files_.empty() ? "" : " + ") + path.string();
    report_.bytes += files_.emplace_back(path).bytes();
  }
  if (files.size() == 2) report_.unit = "pair";
  if (policy == OnBadLine::skip) return;
  for (TextRow row; next(row);) continue;
  report_.require_clean(policy);
  rewind();
}

void ParallelText::rewind() {
  for (TextFile& file : files_) file.rewind();
  LineReport fresh;
  fresh.files = report_.files;
  fresh.unit = report_.unit;
  fresh.limit = report_.limit;
  fresh.bytes = report_.bytes;
  report_ = std::move(fresh);
}

std::string ParallelText::place(const TextRow& row) const { return concat(report_.files, ":", row.line); }

bool ParallelText::next(TextRow& row) {
  while (read_row(row)) {
    if (is_good(row)) return true;
  }
  return false;
}

bool ParallelText::read_row(TextRow& row) {
  row = TextRow{};
  const bool first = files_[0].next(row.text[0]);
  row.line = files_[0].line();
  if (files_.size() == 1) return first;
  const bool second = files_[1].next(row.text[1]);
  if (first && second) return true;
  if (first || second) skip_unpaired(first);
  return false;
}

// Reports the rest of the longer file as unpaired. Its first line without a partner has just been read.
void ParallelText::skip_unpaired(bool first_is_longer) {
  TextFile& longer = files_[first_is_longer ? 0 : 1];
  const TextFile& shorter = files_[first_is_longer ? 1 : 0];
  const uint64_t first_line = longer.line();
  std::string_view line;
  while (longer.next(line)) continue;
  const std::string counts = concat(longer.path().string(), " has ", longer.line(), " lines, ", shorter.path().string(),
                                    " has ", shorter.line());
  for (uint64_t n = first_line; n <= longer.line(); ++n) report_.skip(BadLine::unpaired, n, counts);
}

bool ParallelText::is_good(const TextRow& row) {
  for (size_t side = 0; side < sides(); ++side) {
    if (const auto at = first_invalid_utf8(row.text[side])) {
      report_.skip(BadLine::bad_utf8, row.line,
                   concat(files_[side].path().string(), ":", row.line, ": ", name_byte(row.text[side], *at)));
      return false;
    }
  }
  for (size_t side = 0; side < sides() && blank_ == BlankLines::bad; ++side) {
    if (is_blank(row.text[side])) {
      report_.skip(BadLine::empty, row.line, concat(files_[side].path().string(), ":", row.line));
      return false;
    }
  }
  return true;
}

}  // namespace gyre
