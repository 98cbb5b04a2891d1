// Reads one text file, or two parallel text files, line by line. Counts bad lines and, depending on the policy, skips
// them or throws an Error that names the file and the line.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_file.h"

namespace gyre {

struct TextRow {
  uint64_t line = 0;                     // line number from 1
  std::array<std::string_view, 2> text;  // the second is empty for a single file
};

enum class BlankLines : uint8_t { bad, rows };

class ParallelText {
 public:
  // Opens one or two files. If the policy makes any kind of bad line an error, checks all lines first, so that such an
  // error does not occur after hours of work. The caller checks for over-long lines.
  ParallelText(const std::vector<Path>& files, OnBadLine policy, BlankLines blank = BlankLines::bad);

  bool next(TextRow& row);  // reads the next good row; false at the end
  void rewind();            // returns to the start and clears the report

  size_t sides() const { return files_.size(); }
  // Position of a row for messages: "train.en + train.de:12".
  std::string place(const TextRow& row) const;
  // The report of all rows read so far. The caller counts `kept`.
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
