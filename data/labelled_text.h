// Tab-separated rows of one text or two with a label, as GLUE's files have them. There is no quoting: a quote is a
// character like any other. Lines may end in LF or CRLF, the file may begin with a byte order mark.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/parallel_text.h"

namespace gyre {

// The column of this name where the file has a header line and the name is not empty; else the one of this number, from
// 0, or from the end: -1 is the last.
struct Column {
  std::string name;
  int number = 0;
};

struct LabelledFormat {
  bool has_header = true;
  Column text;
  std::optional<Column> second_text;
  std::optional<Column> label;       // nothing: the rows have none and are there to predict it
  std::vector<std::string> classes;  // the labels, a class's number is its place; empty: labels are real numbers

  bool is_regression() const { return classes.empty(); }
};

struct LabelledRow {
  uint64_t line = 0;                     // from 1, a header line counts
  std::array<std::string_view, 2> text;  // the second is empty for single texts
  int32_t label = -1;                    // the class; -1: unknown, or regression
  double score = 0;                      // regression's label
};

class LabelledText {
 public:
  // Reads the whole file. A row may have more columns than are asked for. Bad are rows of bad UTF-8, with too few
  // columns, with a text of nothing but white space, and with a label that is none of the classes or not a finite
  // number; the policy says which of these are skipped. An Error names file, line, what was expected and what came,
  // also for a header line without a name that is asked for, and when no row is left.
  LabelledText(const Path& file, LabelledFormat format, OnBadLine policy);

  // The texts live as long as this object.
  const std::vector<LabelledRow>& rows() const { return rows_; }
  const LabelledFormat& format() const { return format_; }
  const LineReport& report() const { return report_; }
  // The report and the labels: "dev.tsv: 408 rows, skipped 1 empty (line 7); labels: 129 x 0, 279 x 1".
  std::string describe() const;

 private:
  using Cells = std::vector<std::string_view>;
  void read_header();
  int find_column(const Column& column, const Cells& names) const;
  void read_row(std::string_view line);
  bool read_label(std::string_view cell, LabelledRow& row) const;
  void skip(BadLine kind, const std::string& reason);
  std::string place() const;  // "dev.tsv:7"

  TextFile file_;
  LabelledFormat format_;
  std::array<int, 3> numbers_{};  // of the columns: text, second text, label; negative from the end
  size_t least_columns_ = 0;
  Cells cells_;  // of the line in hand
  std::vector<LabelledRow> rows_;
  LineReport report_;
};

}  // namespace gyre
