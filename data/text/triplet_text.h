// Reads triplets of texts for text matching: a text A and two candidates, B and C, of which one is nearer to A. This is
// the form of CAIL2019-SCM (Xiao et al. 2019, arXiv:1911.08962).
//
// A file whose first line begins with { has a JSON object on each line:
//   {"A": "..", "B": "..", "C": "..", "label": "B"}
// Any other file has tab-separated columns, and a header line that names the columns A, B, C and optionally label.
// The label is the nearer candidate, B or C. Triplets without a label have B as the nearer one. Other keys and columns
// are ignored. Lines may end in LF or CRLF, and the file may begin with a byte order mark.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_file.h"

namespace gyre {

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
