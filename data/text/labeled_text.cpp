#include "gyre/data/text/labeled_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

TextFile::TextFile(Path path) : path_(std::move(path)) {
  TextInput input(path_);
  input.require_documents();
  kind_ = input.kind();
  text_ = input.read_all();
  rewind();
}

void TextFile::rewind() {
  rest_ = std::string_view(text_).substr(byte_order_mark_bytes(text_));
  line_ = 0;
}

bool TextFile::next(std::string_view& line) {
  if (!take_line(rest_, line)) return false;
  ++line_;
  return true;
}

namespace {

// Returns the minimum number of columns in a row that has this column.
size_t columns_for(int number) { return number < 0 ? size_t(-number) : size_t(number) + 1; }

// True if the loss can use this number as a float. False for NaN.
bool is_finite_float(double number) { return std::abs(number) <= double(std::numeric_limits<float>::max()); }

}  // namespace

LabeledText::LabeledText(const Path& file, LabeledFormat format, OnBadLine policy)
    : file_(file), format_(std::move(format)) {
  report_.files = file.string();
  report_.unit = "row";
  report_.bytes = file_.bytes();
  reject_json();
  read_header();
  for (std::string_view line; file_.next(line);) read_row(line);
  report_.require_clean(policy);
  report_.kept = rows_.size();
  require(!rows_.empty(), "[data] expected at least one row, got ", report_.describe());
}

// JSON objects have no tab, unless they are cells of a table.
void LabeledText::reject_json() {
  std::string_view line;
  const bool is_json = file_.kind() == TextKind::json_lines && file_.next(line) && line.find('\t') == line.npos;
  require(!is_json, "[data] ", report_.files,
          ": expected tab-separated columns, got JSON lines: jq -r '[.text, .label] | @tsv' writes columns");
  file_.rewind();
}

// Reads the header line, if there is one, and finds the columns.
void LabeledText::read_header() {
  if (format_.has_header) {
    std::string_view line;
    require(file_.next(line), "[data] ", report_.files, ": expected a header line, the file is empty");
    const auto bad = first_invalid_utf8(line);
    require(!bad, "[data] ", place(), ": expected UTF-8 in the header line, got ", bad ? name_byte(line, *bad) : "");
    split_cells(line, cells_);
  }
  const std::array<std::optional<Column>, 3> columns{format_.text, format_.second_text, format_.label};
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i]) continue;
    numbers_[i] = find_column(*columns[i], cells_);
    min_columns_ = std::max(min_columns_, columns_for(numbers_[i]));
  }
}

int LabeledText::find_column(const Column& column, const Cells& names) const {
  if (!format_.has_header || column.name.empty()) return column.number;
  const auto count = std::count(names.begin(), names.end(), column.name);
  require(count == 1, "[data] ", place(), ": expected one column named \"", column.name, "\" in the header line, got ",
          listed(names));
  return int(std::find(names.begin(), names.end(), column.name) - names.begin());
}

void LabeledText::read_row(std::string_view line) {
  if (const auto bad = first_invalid_utf8(line)) return skip(BadLine::bad_utf8, name_byte(line, *bad));
  if (is_blank(line)) return skip(BadLine::empty, "a blank line");
  split_cells(line, cells_);
  if (cells_.size() < min_columns_) {
    return skip(BadLine::bad_columns,
                concat("expected at least ", min_columns_, " tab-separated columns, got ", cells_.size()));
  }
  const auto cell = [&](size_t i) {
    return *(numbers_[i] < 0 ? cells_.end() + numbers_[i] : cells_.begin() + numbers_[i]);
  };
  LabeledRow row;
  row.line = file_.line();
  row.text = {cell(0), format_.second_text ? cell(1) : std::string_view()};
  if (is_blank(row.text[0]) || (format_.second_text && is_blank(row.text[1]))) {
    return skip(BadLine::empty, "a text is empty");
  }
  if (format_.label && !read_label(cell(2), row)) {
    std::string expected = "one of the labels " + listed(format_.classes);
    if (format_.is_regression())
      expected =
          std::isfinite(row.score) && !is_finite_float(row.score) ? "a number in the range of a float" : "a number";
    return skip(BadLine::bad_label, concat("expected ", expected, ", got \"", cell(2), '"'));
  }
  rows_.push_back(row);
}

bool LabeledText::read_label(std::string_view cell, LabeledRow& row) const {
  if (format_.is_regression()) {
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), row.score);
    return error == std::errc() && end == cell.data() + cell.size() && is_finite_float(row.score);
  }
  const auto place = std::find(format_.classes.begin(), format_.classes.end(), cell);
  row.label = int32_t(place - format_.classes.begin());
  return place != format_.classes.end();
}

void LabeledText::skip(BadLine kind, const std::string& reason) {
  report_.skip(kind, file_.line(), concat(place(), ": ", reason));
}

std::string LabeledText::place() const { return concat(report_.files, ":", file_.line()); }

std::string LabeledText::describe() const {
  if (!format_.label) return report_.describe();
  if (format_.is_regression()) {
    const auto less = [](const LabeledRow& a, const LabeledRow& b) { return a.score < b.score; };
    const auto [least, most] = std::minmax_element(rows_.begin(), rows_.end(), less);
    return concat(report_.describe(), "; labels: ", least->score, " to ", most->score);
  }
  std::vector<uint64_t> counts(format_.classes.size());
  for (const LabeledRow& row : rows_) ++counts[size_t(row.label)];
  std::string text = report_.describe() + "; labels: ";
  for (size_t i = 0; i < counts.size(); ++i) text += concat(i == 0 ? "" : ", ", counts[i], " x ", format_.classes[i]);
  return text;
}

namespace {

constexpr std::array<std::string_view, 4> kNames{"A", "B", "C", "label"};

bool is_object(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '{';
}

// The text of a key of a JSON object. Throws an Error that says what was found instead.
std::string text_of(const IndexedJson& object, std::string_view name) {
  const auto found = object.find(name);
  require(found != object.end(), "expected a text \"", name, "\", got none");
  if (!found->is_string()) throw Error("expected a text \"", name, "\", got ", cut_for_message(found->dump()));
  return found->get<std::string>();
}

}  // namespace

TripletText::TripletText(const Path& file, OnBadLine policy) : file_(file) {
  report_.files = file.string();
  report_.unit = "triplet";
  report_.bytes = file_.bytes();
  std::string_view first;
  require(file_.next(first), "[data] ", report_.files, ": expected triplets of texts, the file is empty");
  if (is_object(first)) {
    read_objects(first);
  } else {
    read_table(first);
  }
  report_.require_clean(policy);
  report_.kept = triplets_.size();
  require(!triplets_.empty(), "[data] expected at least one triplet, got ", report_.describe());
}

void TripletText::read_objects(std::string_view first) {
  read_object(first);
  for (std::string_view line; file_.next(line);) read_object(line);
}

void TripletText::read_table(std::string_view header) {
  read_header(header);
  for (std::string_view line; file_.next(line);) read_cells(line);
}

void TripletText::read_header(std::string_view header) {
  const auto bad = first_invalid_utf8(header);
  require(!bad, "[data] ", place(), ": expected UTF-8 in the header line, got ", bad ? name_byte(header, *bad) : "");
  split_cells(header, cells_);
  for (size_t i = 0; i < kNames.size(); ++i) {
    const auto count = std::count(cells_.begin(), cells_.end(), kNames[i]);
    const bool is_label = kNames[i] == "label";
    require(count == 1 || (is_label && count == 0), "[data] ", place(),
            ": expected a JSON object, or a header line with ", is_label ? "at most one column \"" : "one column \"",
            kNames[i], "\", got ", cut_for_message(listed(cells_)));
    columns_[i] = size_t(std::find(cells_.begin(), cells_.end(), kNames[i]) - cells_.begin());
    if (is_label) has_label_ = count == 1;
  }
}

bool TripletText::is_readable(std::string_view line) {
  if (const auto bad = first_invalid_utf8(line)) {
    skip(BadLine::bad_utf8, name_byte(line, *bad));
  } else if (is_blank(line)) {
    skip(BadLine::empty, "a blank line");
  } else {
    return true;
  }
  return false;
}

void TripletText::read_object(std::string_view line) {
  if (!is_readable(line)) return;
  try {
    constexpr int kDeepest = 8;
    const IndexedJson object = parse_strict_json(line, kDeepest, "", "the line");
    if (!object.is_object()) throw Error("expected a JSON object, got ", cut_for_message(line));
    if (!objects_have_label_) objects_have_label_ = object.contains("label");
    require(object.contains("label") == *objects_have_label_, "expected ", *objects_have_label_ ? "a" : "no",
            " \"label\", as in the first object");
    Triplet triplet{0, text_of(object, "A"), text_of(object, "B"), text_of(object, "C")};
    if (object.contains("label")) {
      add(std::move(triplet), text_of(object, "label"));
    } else {
      add(std::move(triplet), std::nullopt);
    }
  } catch (const Error& error) {
    skip(BadLine::bad_json, error.what());
  }
}

void TripletText::read_cells(std::string_view line) {
  if (!is_readable(line)) return;
  split_cells(line, cells_);
  const size_t needed = *std::max_element(columns_.begin(), columns_.end() - (has_label_ ? 0 : 1)) + 1;
  if (cells_.size() < needed) {
    return skip(BadLine::bad_columns,
                concat("expected at least ", needed, " tab-separated columns, got ", cells_.size()));
  }
  const auto cell = [&](size_t i) { return std::string(cells_[columns_[i]]); };
  add({0, cell(0), cell(1), cell(2)}, has_label_ ? std::optional(cells_[columns_[3]]) : std::nullopt);
}

void TripletText::add(Triplet triplet, std::optional<std::string_view> label) {
  if (is_blank(triplet.a) || is_blank(triplet.b) || is_blank(triplet.c)) {
    return skip(BadLine::empty, "a text is empty");
  }
  if (label && label != "B" && label != "C") {
    return skip(BadLine::bad_label,
                concat("expected the label \"B\" or \"C\", got ", quoted_for_message(std::string(*label))));
  }
  triplet.line = file_.line();
  triplet.c_is_nearer = label == "C";
  triplets_.push_back(std::move(triplet));
}

void TripletText::skip(BadLine kind, const std::string& reason) {
  report_.skip(kind, file_.line(), concat(place(), ": ", reason));
}

std::string TripletText::place() const { return concat(report_.files, ":", file_.line()); }

std::string TripletText::describe() const {
  const auto nearer_c =
      std::count_if(triplets_.begin(), triplets_.end(), [](const Triplet& t) { return t.c_is_nearer; });
  return concat(report_.describe(), "; nearer: ", ptrdiff_t(triplets_.size()) - nearer_c, " x B, ", nearer_c, " x C");
}

}  // namespace gyre
