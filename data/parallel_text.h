// Text files read line by line: one file, or two whose lines belong together. Bad lines are counted and, as the policy
// says, left out or made an error that names file and line.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapped_file.h"
#include "data/line_report.h"

namespace gyre {

// The lines of one file without their ends (LF or CRLF) and without a byte order mark. A regular file is memory-mapped;
// a pipe is read whole. The last line may lack its end. Lines may hold any bytes and have any length.
class TextFile {
 public:
  explicit TextFile(Path path);
  TextFile(const TextFile&) = delete;  // the views point into it
  TextFile& operator=(const TextFile&) = delete;
  bool next(std::string_view& line);  // false at the end; the view lives as long as the file
  uint64_t line() const { return line_; }
  void rewind();
  const Path& path() const { return path_; }
  uint64_t bytes() const { return text_.size(); }
  std::string_view text() const { return text_; }  // all of it, as it lies there

 private:
  Path path_;
  MappedFile map_;
  std::string content_;  // of what cannot be mapped
  std::string_view text_, rest_;
  uint64_t line_ = 0;  // number of the line returned last, from 1
};

struct TextRow {
  uint64_t line = 0;                     // from 1
  std::array<std::string_view, 2> text;  // the second is empty for a single file
};

enum class BlankLines : uint8_t { are_bad, are_rows };

class ParallelText {
 public:
  // One or two files. Where the policy makes a kind an error, the files are first read through, so that hours of work
  // do not end in such an error; over-long lines are the caller's to find.
  ParallelText(const std::vector<Path>& files, OnBadLine policy, BlankLines blank = BlankLines::are_bad);

  bool next(TextRow& row);  // the next good row; false at the end
  void rewind();            // to the start, with an empty report

  size_t sides() const { return files_.size(); }
  // Where a row stands, for messages: "train.en + train.de:12".
  std::string place(const TextRow& row) const;
  // Counts what was read so far; `kept` is the caller's to count.
  LineReport& report() { return report_; }

 private:
  bool read_row(TextRow& row);
  bool is_good(const TextRow& row);
  void skip_unpaired(bool first_is_longer);

  std::deque<TextFile> files_;
  BlankLines blank_;
  LineReport report_;
};

}  // namespace gyre
