#include "gyre/data/text/parallel_text.h"

#include <utility>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

ParallelText::ParallelText(TextInputs files, OnBadLine policy) : inputs_(std::move(files)) {
  require(inputs_.size() == 1 || inputs_.size() == 2, "[data] expected one text file or two, got ", inputs_.size());
  for (const TextInput& input : inputs_) {
    report_.files += (report_.files.empty() ? "" : " + ") + input.name();
    input.require_documents();
    require(input.kind() == TextKind::text, "[data] ", input.name(),
            ": expected one sentence per line, got JSON lines: jq -r .text writes their texts");
  }
  if (inputs_.size() == 2) report_.unit = "pair";
  open();
  if (policy == OnBadLine::skip || !inputs_.can_rewind()) return;
  for (TextRow row; next(row);) continue;
  report_.require_clean(policy);
  rewind();
}

void ParallelText::open() {
  lines_.clear();
  for (TextInput& input : inputs_) lines_.push_back(std::make_unique<LineStream>(input));
}

void ParallelText::rewind() {
  for (TextInput& input : inputs_) input.rewind();
  open();
  LineReport fresh;
  fresh.files = report_.files;
  fresh.unit = report_.unit;
  fresh.limit = report_.limit;
  report_ = std::move(fresh);
}

std::string ParallelText::place(const TextRow& row) const { return concat(report_.files, ":", row.line); }

bool ParallelText::next(TextRow& row) {
  while (read_row(row)) {
    if (!is_good(row)) continue;
    for (size_t side = 0; side < sides(); ++side) report_.look_at(row.text[side], row.line);
    return true;
  }
  return false;
}

bool ParallelText::read_row(TextRow& row) {
  row.text[1].clear();
  const bool first = lines_[0]->next(row.text[0]);
  row.line = lines_[0]->line();
  const bool second = sides() == 2 ? lines_[1]->next(row.text[1]) : first;
  if (first && second) return true;
  if (first || second) skip_unpaired(first);
  report_.bytes = 0;
  for (const TextInput& input : inputs_) report_.bytes += input.bytes();
  report_.require_no_json();
  return false;
}

// Reports the rest of the longer file as unpaired. Its first line without a partner has just been read.
void ParallelText::skip_unpaired(bool first_is_longer) {
  LineStream& longer = *lines_[first_is_longer ? 0 : 1];
  const LineStream& shorter = *lines_[first_is_longer ? 1 : 0];
  const uint64_t first_line = longer.line();
  std::string line;
  while (longer.next(line)) continue;
  const std::string counts =
      concat(longer.name(), " has ", longer.line(), " lines, ", shorter.name(), " has ", shorter.line());
  for (uint64_t n = first_line; n <= longer.line(); ++n) report_.skip(BadLine::unpaired, n, counts);
}

bool ParallelText::is_good(const TextRow& row) {
  for (size_t side = 0; side < sides(); ++side) {
    if (const auto at = first_invalid_utf8(row.text[side])) {
      report_.skip(BadLine::bad_utf8, row.line,
                   concat(inputs_[side].name(), ":", row.line, ": ", name_byte(row.text[side], *at)));
      return false;
    }
  }
  for (size_t side = 0; side < sides(); ++side) {
    if (is_blank(row.text[side])) {
      report_.skip(BadLine::empty, row.line, concat(inputs_[side].name(), ":", row.line));
      return false;
    }
  }
  return true;
}

}  // namespace gyre
