#include "tools/scored_pairs.h"

#include <algorithm>
#include <charconv>

#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

constexpr std::string_view kSeparator = " ||| ";

// The place of the separator number n, from 0, of an n-best line; npos if there is none.
size_t find_separator(const std::string& line, int n) {
  size_t at = line.find(kSeparator);
  for (; n > 0 && at != std::string::npos; --n) at = line.find(kSeparator, at + kSeparator.size());
  return at;
}

// The second field of an n-best line.
std::string text_of_entry(const std::string& line) {
  const size_t begin = find_separator(line, 0) + kSeparator.size();
  return line.substr(begin, line.find(kSeparator, begin) - begin);
}

// Whether the third field of an n-best line, if there is one, begins with the name of a feature, such as "F0= ".
// Otherwise the text contains a separator.
bool has_features(const std::string& line) {
  const size_t text = find_separator(line, 1);
  if (text == std::string::npos) return true;
  const size_t begin = text + kSeparator.size(), name_end = line.find("= ", begin);
  return name_end != std::string::npos && name_end > begin && name_end < line.find(' ', begin);
}

}  // namespace

void ScoredPairFiles::add_rows(OptionTable& table) {
  table.add("--source,-s", source, "FILE", "sources, one sentence per line; -: standard input");
  table.add("--target,-t", target, "FILE", "their translations, which are scored; -: standard input");
  for (const char* name : {"source", "target"}) table.required(name);
  table.add_flag("--n-best", n_best,
                 "the translations are an n-best list, id ||| text ||| F0= log P ||| score; print it with a feature "
                 "Score= added");
  table.add("--max-length", max_length, "TOKENS", "maximum length, </s> included; a longer line is bad");
  bad_lines.add_row(table, "too long or not UTF-8, on either side");
}

void ScoredPairFiles::check() const {
  expect_at_least(1, "--max-length", max_length);
  if (is_standard(source) && is_standard(target))
    throw UsageError("--source, --target: expected at most one of them to be standard input");
}

ScoredPairs::ScoredPairs(const ScoredPairFiles& files, const Vocabulary& vocabulary, int64_t longest)
    : vocabulary_(vocabulary),
      n_best_(files.n_best),
      limit_(size_t(std::min<int64_t>(files.max_length, longest))),
      sources_(files.source, files.bad_lines.policy()),
      targets_(files.target, files.bad_lines.policy()) {
  for (InputLines* lines : {&sources_, &targets_}) lines->set_limit(concat(limit_, " tokens"));
}

bool ScoredPairs::next(ScoredPair& pair) {
  if (!targets_.next(pair.line)) return end_of_targets();
  if (!n_best_) {
    read_source();
  } else if (!targets_.is_skipped()) {
    const uint64_t number = source_of_entry(pair.line);
    while (sources_.line() <= number) read_source();
  }
  pair.source = source_;
  pair.target.clear();
  if (!targets_.is_skipped()) pair.target = encode(targets_, n_best_ ? text_of_entry(pair.line) : pair.line);
  pair.is_skipped = sources_.is_skipped() || targets_.is_skipped();
  return true;
}

void ScoredPairs::print_report() const {
  sources_.print_report();
  targets_.print_report();
}

void ScoredPairs::read_source() {
  std::string line;
  require(sources_.next(line), targets_.name(), ":", targets_.line(),
          ": there is no source for this line: ", sources_.name(), " has ", sources_.line(), " lines");
  source_ = encode(sources_, line);
}

// An n-best list need not have entries for the last sources.
bool ScoredPairs::end_of_targets() {
  std::string line;
  require(n_best_ || !sources_.next(line), targets_.name(), ": expected a target for each line of ", sources_.name(),
          ", got only ", targets_.line(), " lines");
  return false;
}

// The number of the source, from 0, of an n-best line.
uint64_t ScoredPairs::source_of_entry(const std::string& line) const {
  uint64_t number = 0;
  const size_t separator = find_separator(line, 0);
  const char* const end = line.data() + std::min(separator, line.size());
  const auto parsed = std::from_chars(line.data(), end, number);
  require(separator != std::string::npos && parsed.ec == std::errc() && parsed.ptr == end, targets_.name(), ":",
          targets_.line(), ": expected an entry of an n-best list, id ||| text ||| .., got '", line.substr(0, 60), "'");
  require(has_features(line), targets_.name(), ":", targets_.line(),
          ": expected features such as F0= -1.5 after the text, which must not contain '|||', got '",
          line.substr(0, 60), "'");
  require(number + 1 >= sources_.line(), targets_.name(), ":", targets_.line(),
          ": expected the numbers of sources in ascending order, got ", number, " after ", sources_.line() - 1);
  return number;
}

std::vector<int32_t> ScoredPairs::encode(InputLines& from, const std::string& text) const {
  std::vector<int32_t> ids = vocabulary_.encode(text);
  if (ids.size() < limit_) return ids;
  from.reject(BadLine::too_long, concat("expected at most ", limit_, " tokens, got ", ids.size() + 1));
  return {};
}

std::string with_feature(const std::string& line, const std::string& feature) {
  const size_t text = find_separator(line, 1), features = find_separator(line, 2);
  if (text == std::string::npos) return line + std::string(kSeparator) + feature;
  if (features == std::string::npos) return line + ' ' + feature;
  return line.substr(0, features) + ' ' + feature + line.substr(features);
}

}  // namespace gyre
