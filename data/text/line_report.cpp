#include "gyre/data/text/line_report.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"

namespace gyre {

namespace {

constexpr size_t kNumbersShown = 5;

std::string name_of(BadLine kind, const std::string& limit) {
  switch (kind) {
    case BadLine::unpaired:
      return "without a partner";
    case BadLine::bad_utf8:
      return "with invalid UTF-8";
    case BadLine::bad_json:
      return "with bad JSON";
    case BadLine::bad_columns:
      return "with a wrong number of columns";
    case BadLine::empty:
      return "empty";
    case BadLine::bad_label:
      return "with a bad label";
    case BadLine::too_long:
      break;
  }
  return "over " + limit;
}

std::string line_numbers(const LineReport::Skipped& skipped) {
  std::string text = skipped.count == 1 ? "line " : "lines ";
  for (size_t i = 0; i < skipped.first_lines.size(); ++i) {
    text += concat(i == 0 ? "" : ", ", skipped.first_lines[i]);
  }
  const uint64_t more = skipped.count - skipped.first_lines.size();
  return more == 0 ? text : concat(text, " and ", more, " more");
}

bool is_error(OnBadLine policy, BadLine kind) {
  if (policy == OnBadLine::by_kind) return kind != BadLine::empty && kind != BadLine::too_long;
  return policy == OnBadLine::error;
}

}  // namespace

JsonLine json_in(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const size_t first = line.find_first_not_of(kBlank);
  if (first == line.npos || (line[first] != '{' && line[first] != '[' && line[first] != '"')) return JsonLine::none;
  const size_t next = line.find_first_not_of(kBlank, first + 1);
  if (next == line.npos) return JsonLine::none;
  const bool may_be = line[first] == '"' || line[next] == '"' || (line[first] == '[' && line[next] == '{');
  if (!may_be || !IndexedJson::accept(line)) return JsonLine::none;
  return line[first] == '"' ? JsonLine::string : JsonLine::object;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

void LineReport::skip(BadLine kind, uint64_t line, const std::string& place) {
  Skipped& s = skipped[size_t(kind)];
  if (s.count++ == 0) s.first_place = place;
  if (s.first_lines.size() < kNumbersShown) s.first_lines.push_back(line);
}

void LineReport::look_at(std::string_view text, uint64_t line) {
  lines_with_nul += text.find('\0') != text.npos;
  lines_with_return += text.find('\r') != text.npos;
  ++json.lines;
  const JsonLine kind = json_in(text);
  if (kind == JsonLine::object && json.objects++ == 0) json.first_object = line;
  if (kind != JsonLine::string) return;
  if (json.strings++ == 0) json.first_string = line;
  json.escapes += text.find('\\') != text.npos;
}

void LineReport::require_no_json() const {
  require(json.objects == 0 || json.objects < json.lines - json.objects, "[data] ", files, ":", json.first_object, ": ",
          counted(json.objects, "line"), " of ", json.lines,
          " are JSON: expected text, or JSON lines, each an object with a text, from the first line on");
  require(json.escapes == 0 || json.strings < json.lines - json.strings, "[data] ", files, ":", json.first_string, ": ",
          counted(json.strings, "line"), " of ", json.lines,
          " are JSON strings: expected text, or JSON lines, each an object with a text, as jq -c '{text}' writes them");
}

void LineReport::require_clean(OnBadLine policy, std::string_view advice) const {
  for (size_t k = 0; k < kBadLineKinds; ++k) {
    const auto kind = BadLine(k);
    const Skipped& s = of(kind);
    if (s.count == 0 || !is_error(policy, kind)) continue;
    throw Error("[data] ", s.first_place, ": ", counted(s.count, "line"), " ", name_of(kind, limit), " (",
                line_numbers(s), ")", advice);
  }
}

std::string LineReport::describe() const {
  std::string text = concat(files, ": ", counted(kept, unit));
  const char* before = ", skipped ";
  for (size_t k = 0; k < kBadLineKinds; ++k) {
    const Skipped& s = skipped[k];
    if (s.count == 0) continue;
    text += concat(before, s.count, " ", name_of(BadLine(k), limit), " (", line_numbers(s), ")");
    before = ", ";
  }
  if (separators > 0)
    text += concat("; ", counted(separators, "line"), " like '", separator, "' read as text: --documents '", separator,
                   "' ends documents there");
  if (texts_with_ends > 0)
    text += concat("; <|endoftext|> inside ", counted(texts_with_ends, "text"), " ends no document");
  if (lines_with_nul > 0) text += concat("; ", counted(lines_with_nul, "line"), " with NUL bytes");
  if (lines_with_return > 0)
    text += concat("; ", counted(lines_with_return, "line"),
                   " with a carriage return inside, which ends no line: tr '\\r' '\\n' makes line ends of them");
  if (json.objects > 0)
    text += concat("; ", counted(json.objects, "line"), " with JSON (the first: line ", json.first_object,
                   ") read as text");
  if (json.strings > 0 && json.strings >= json.lines - json.strings)
    text += concat("; ", counted(json.strings, "line"), " in quotes (the first: line ", json.first_string,
                   ") read as text, not as JSON");
  if (cropped > 0) text += concat(", cropped ", cropped, " to ", limit);
  return text;
}

}  // namespace gyre
