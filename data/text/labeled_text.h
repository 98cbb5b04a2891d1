// Tables of text: whole text files, their cells, labeled texts, and triplets for text matching.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_input.h"

namespace gyre {

// The lines of a text file as views, which stay valid. Reads one input into memory, decompressed, and returns its lines
// without line ends (LF or CRLF) and without a byte order mark. The last line may have no line end. Lines may contain
// any bytes and have any length. For texts that are used as a whole; LineStream reads corpora.
class TextFile {
 public:
  explicit TextFile(Path path);
  TextFile(const TextFile&) = delete;  // the views point into this object
  TextFile& operator=(const TextFile&) = delete;
  bool next(std::string_view& line);  // false at the end; the view is valid as long as this object exists
  uint64_t line() const { return line_; }
  void rewind();
  const Path& path() const { return path_; }
  uint64_t bytes() const { return text_.size(); }
  TextKind kind() const { return kind_; }

 private:
  Path path_;
  TextKind kind_ = TextKind::text;
  std::string text_;
  std::string_view rest_;
  uint64_t line_ = 0;  // number of the line that was read last, from 1
};

// Cells of lines with tab-separated columns. There is no quoting. The cells are views of the line.
inline void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  size_t begin = 0, tab = 0;
  do {
    tab = line.find('\t', begin);
    cells.push_back(line.substr(begin, tab - begin));
    begin = tab + 1;
  } while (tab != std::string_view::npos);
}

// Lists names for a message: "a", "b".
template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& name : names) text += concat(text.empty() ? "" : ", ", '"', name, '"');
  return text;
}

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

// Reads triplets of texts for text matching: a text A and two candidates, B and C, of which one is nearer to A. This is
// the form of CAIL2019-SCM (Xiao et al. 2019, arXiv:1911.08962).
//
// A file whose first line begins with { has a JSON object on each line:
//   {"A": "..", "B": "..", "C": "..", "label": "B"}
// Any other file has tab-separated columns, and a header line that names the columns A, B, C and optionally label.
// The label is the nearer candidate, B or C. Triplets without a label have B as the nearer one. Other keys and columns
// are ignored. Lines may end in LF or CRLF, and the file may begin with a byte order mark.
struct Triplet {
  uint64_t line = 0;    // line number from 1, counting the header line
  std::string a, b, c;  // texts as they are in the file
  bool c_is_nearer = false;

  const std::string& nearer() const { return c_is_nearer ? c : b; }
  const std::string& farther() const { return c_is_nearer ? b : c; }
};

class TripletText {
 public:
  // Reads the whole file. A line is bad if it has invalid UTF-8, if it is not a JSON object with the texts A, B and C
  // or has too few columns, if one of the texts is blank, or if its label is neither B nor C. The policy decides which
  // bad lines are skipped and which are errors. Also throws an Error if the header line lacks a column, or if no
  // triplet remains. Errors name the file, the line, the expected and the actual content.
  TripletText(const Path& file, OnBadLine policy);

  const std::vector<Triplet>& triplets() const { return triplets_; }
  // "dev.jsonl: 400 triplets, skipped 1 empty (line 7); nearer: 212 x B, 188 x C"
  std::string describe() const;

 private:
  using Cells = std::vector<std::string_view>;
  void read_objects(std::string_view first);
  void read_table(std::string_view header);
  void read_header(std::string_view header);
  void read_object(std::string_view line);
  void read_cells(std::string_view line);
  bool is_readable(std::string_view line);  // skips the line otherwise
  void add(Triplet triplet, std::optional<std::string_view> label);
  void skip(BadLine kind, const std::string& reason);
  std::string place() const;  // "dev.jsonl:7"

  TextFile file_;
  std::array<size_t, 4> columns_{};         // numbers of the columns A, B, C and label
  bool has_label_ = false;                  // whether the table has a column of labels
  std::optional<bool> objects_have_label_;  // whether the first object has a label, and so all others
  Cells cells_;                             // cells of the current line
  std::vector<Triplet> triplets_;
  LineReport report_;
};

}  // namespace gyre
