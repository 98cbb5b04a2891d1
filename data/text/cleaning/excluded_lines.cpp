#include "gyre/data/text/cleaning/excluded_lines.h"

#include "gyre/core/error.h"
#include "gyre/data/text/cleaning/whitespace.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

ExcludedLines::ExcludedLines(std::vector<Path> files, bool remove_pipes)
    : files_(std::move(files)), remove_pipes_(remove_pipes) {
  for (size_t file = 0; file < files_.size(); ++file) read(file);
}

void ExcludedLines::read(size_t file) {
  LineStream lines(files_[file]);
  require(lines.input().kind() == TextKind::text, "[data] ", lines.name(), ": expected lines of text, got JSON lines");
  for (std::string line; lines.next(line);) {
    if (const auto at = first_invalid_utf8(line))
      throw Error("[data] ", lines.name(), ":", lines.line(), ": ", name_byte(line, *at), " is not UTF-8");
    if (remove_pipes_) std::erase(line, '|');
    std::string folded = fold_line(line);
    if (!folded.empty()) places_.try_emplace(std::move(folded), Place{file, lines.line()});
  }
}

std::optional<ExcludedLines::Place> ExcludedLines::find(std::string_view text) const {
  const auto found = places_.find(fold_line(text));
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

}  // namespace gyre
