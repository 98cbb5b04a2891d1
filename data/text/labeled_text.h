// Reads tab-separated rows of one or two texts with a label, the format of GLUE's files. There is no quoting: quotes
// are ordinary characters. Lines may end in LF or CRLF, and the file may begin with a byte order mark.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_file.h"

namespace gyre {

// A column, identified by its name if the file has a header line and the name is not empty, and otherwise by its
// number: from 0, or negative to count from the end (-1 is the last column).
struct Column {
  std::string name;
  int number = 0;
};

struct LabeledFormat {
  bool has_header = true;
  Column text;
  std::optional<Column> second_text;
  std::optional<Column> label;       // nullopt: the rows are unlabeled, for prediction
  std::vector<std::string> classes;  // the labels, indexed by class; empty: labels are real numbers (regression)

  bool is_regression() const { return classes.empty(); }
};

struct LabeledRow {
  uint64_t line = 0;                     // line number from 1, counting the header line
  std::array<std::string_view, 2> text;  // the second is empty for single texts
  int32_t label = -1;                    // class; -1 if unknown and for regression
  double score = 0;                      // label for regression
};

class LabeledText {
 public:
  // Reads the whole file. Ignores extra columns. A row is bad if it has invalid UTF-8 or too few columns, if one of its
  // texts is blank, or if its label is not one of the classes or not a finite number. The policy decides which bad rows
  // are skipped and which are errors. Also throws an Error for JSON lines, if the header line lacks a name of the
  // format, or if no row remains. Errors name the file, the line, the expected and the actual content.
  LabeledText(const Path& file, LabeledFormat format, OnBadLine policy);

  // The texts are views that are valid as long as this object exists.
  const std::vector<LabeledRow>& rows() const { return rows_; }
  const LabeledFormat& format() const { return format_; }
  const LineReport& report() const { return report_; }
  // The report and the labels: "dev.tsv: 408 rows, skipped 1 empty (line 7); labels: 129 x 0, 279 x 1".
  std::string describe() const;

 private:
  using Cells = std::vector<std::string_view>;
  void reject_json();
  void read_header();
  int find_column(const Column& column, const Cells& names) const;
  void read_row(std::string_view line);
  bool read_label(std::string_view cell, LabeledRow& row) const;
  void skip(BadLine kind, const std::string& reason);
  std::string place() const;  // "dev.tsv:7"

  TextFile file_;
  LabeledFormat format_;
  std::array<int, 3> numbers_{};  // column numbers of text, second text and label; negative: counted from the end
  size_t min_columns_ = 0;
  Cells cells_;  // cells of the current line
  std::vector<LabeledRow> rows_;
  LineReport report_;
};

}  // namespace gyre
