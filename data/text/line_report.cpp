#include "gyre/data/text/line_report.h"

#include "gyre/core/counted.h"
#include "gyre/core/error.h"

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

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

OnBadLine parse_on_bad_line(std::string_view text) {
  if (text == "default") return OnBadLine::by_kind;
  if (text == "error") return OnBadLine::error;
  if (text == "skip") return OnBadLine::skip;
  throw UsageError("[data] --on-bad-line: expected default, error or skip, got ", text);
}

void LineReport::skip(BadLine kind, uint64_t line, const std::string& place) {
  Skipped& s = skipped[size_t(kind)];
  if (s.count++ == 0) s.first_place = place;
  if (s.first_lines.size() < kNumbersShown) s.first_lines.push_back(line);
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
  const char* separator = ", skipped ";
  for (size_t k = 0; k < kBadLineKinds; ++k) {
    const Skipped& s = skipped[k];
    if (s.count == 0) continue;
    text += concat(separator, s.count, " ", name_of(BadLine(k), limit), " (", line_numbers(s), ")");
    separator = ", ";
  }
  if (separators > 0)
    text += concat("; ", counted(separators, "line"), " like '", separator, "' read as text: --documents '", separator,
                   "' ends documents there");
  if (cropped > 0) text += concat(", cropped ", cropped, " to ", limit);
  return text;
}

}  // namespace gyre
