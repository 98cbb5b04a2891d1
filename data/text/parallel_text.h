// Reads one text file, or two parallel text files, line by line. Counts bad lines and, depending on the policy, skips
// them or throws an Error that names the file and the line.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

struct TextRow {
  uint64_t line = 0;                // line number from 1
  std::array<std::string, 2> text;  // the second is empty for a single file
};

class ParallelText {
 public:
  // Opens one or two files of sentences; JSON lines are an error. If the policy makes any kind of bad line an error and
  // the files can be read again, checks all lines first, so that such an error does not occur after hours of work; a
  // bad line in a pipe is found when it is read. The caller checks for over-long lines, and calls require_clean().
  ParallelText(TextInputs files, OnBadLine policy);

  bool next(TextRow& row);  // reads the next good row; false at the end
  void rewind();            // returns to the start and clears the report; throws an Error for a pipe

  size_t sides() const { return inputs_.size(); }
  const TextInputs& inputs() const { return inputs_; }
  // Position of a row for messages: "train.en + train.de:12".
  std::string place(const TextRow& row) const;
  // The report of all rows read so far. The caller counts `kept`.
  LineReport& report() { return report_; }

 private:
  bool read_row(TextRow& row);
  bool is_good(const TextRow& row);
  void skip_unpaired(bool first_is_longer);

  void open();

  TextInputs inputs_;
  std::vector<std::unique_ptr<LineStream>> lines_;  // lines of each input
  LineReport report_;
};

}  // namespace gyre
