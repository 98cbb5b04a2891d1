#include "gyre/data/text/triplet_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/cells.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

constexpr std::array<std::string_view, 4> kNames{"A", "B", "C", "label"};

bool is_object(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '{';
}

// The text of a key of a JSON object. Throws an Error that says what was found instead.
std::string text_of(const nlohmann::json& object, std::string_view name) {
  const auto found = object.find(name);
  require(found != object.end(), "expected a text \"", name, "\", got none");
  require(found->is_string(), "expected a text \"", name, "\", got ", cut_for_message(found->dump()));
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
    const nlohmann::json object = parse_strict_json(line, kDeepest, "", "the line");
    require(object.is_object(), "expected a JSON object, got ", cut_for_message(line));
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
