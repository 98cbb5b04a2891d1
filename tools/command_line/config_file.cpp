#include "tools/command_line/config_file.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/core/option_values.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

namespace {

void append_utf8(std::string& text, uint32_t code) {
  const auto tail = [&](int shift) { text += char(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += char(code);
  } else if (code < 0x800) {
    text += char(0xc0 | (code >> 6)), tail(0);
  } else if (code < 0x10000) {
    text += char(0xe0 | (code >> 12)), tail(6), tail(0);
  } else {
    text += char(0xf0 | (code >> 18)), tail(12), tail(6), tail(0);
  }
}

class TomlReader {
 public:
  TomlReader(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  ConfigFile all() {
    ConfigFile file{.entries = entries(), .tables = {}};
    while (!at_end()) {
      file.tables.push_back(table_header());
      file.tables.back().entries = entries();
    }
    return file;
  }

 private:
  // The lines up to the next table.
  std::vector<ConfigEntry> entries() {
    line_of_.clear();
    std::vector<ConfigEntry> all;
    for (skip_blank_lines(); !at_end() && peek() != '['; skip_blank_lines()) all.push_back(entry());
    return all;
  }

  ConfigTable table_header() {
    ConfigTable table{.name = {}, .file = file_, .line = line_, .entries = {}};
    if (!text_.substr(at_).starts_with("[["))
      fail("expected `name = value` lines or an array of tables such as [[stage]], got the table ", line_text());
    at_ += 2;
    skip_blanks();
    if (at_end() || peek() == '\n') fail("expected a name and ]] after [[");
    table.name = item();
    skip_blanks();
    if (!text_.substr(at_).starts_with("]]")) fail("expected ]] after the name, got ", line_text());
    at_ += 2;
    skip_blanks();
    if (!at_line_end()) fail("expected the end of the line after ]], got ", line_text());
    return table;
  }

  ConfigEntry entry() {
    ConfigEntry e{.name = item(), .values = {}, .line = line_};
    const auto [first, is_new] = line_of_.emplace(e.name, line_);
    if (!is_new) fail(e.name, " is given twice, first in line ", first->second);
    skip_blanks();
    if (at_line_end()) {
      e.values = {"true"};
      return e;
    }
    if (peek() != '=') fail("expected `name = value`, got ", line_text());
    ++at_;
    skip_blanks();
    const bool bracketed = !at_end() && peek() == '[';
    e.values = bracketed ? list(e.line) : bare_list();
    skip_blanks();
    if (!at_line_end()) fail("expected the end of the line after the value of ", e.name, ", got ", line_text());
    return e;
  }

  std::vector<std::string> list(int first_line) {
    std::vector<std::string> values;
    ++at_;
    while (true) {
      skip_separators(true);
      if (at_end()) throw UsageError(file_, ":", first_line, ": the list has no closing ]");
      if (peek() == ']') break;
      values.push_back(item());
    }
    ++at_;
    return values;
  }

  std::vector<std::string> bare_list() {
    if (at_line_end()) fail("expected a value after =");
    std::vector<std::string> values;
    for (; !at_line_end(); skip_separators(false)) values.push_back(item());
    return values;
  }

  std::string item() {
    if (peek() == '"' || peek() == '\'') return quoted();
    const size_t end = std::min(text_.find_first_of(" \t\r\n,]#=\"'", at_), text_.size());
    if (end == at_) fail("expected a name or a value, got ", line_text());
    std::string word(text_.substr(at_, end - at_));
    at_ = end;
    return word;
  }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string value;
    while (!at_end() && peek() != quote && peek() != '\n') {
      if (peek() == '\\' && quote == '"') {
        ++at_;
        escape(value);
      } else {
        value += text_[at_++];
      }
    }
    if (at_end() || peek() != quote) fail("a string has no closing ", quote);
    ++at_;
    return value;
  }

  void escape(std::string& value) {
    const char kind = at_end() ? '\n' : text_[at_++];
    if (const size_t known = kTomlEscapes.find(kind); known != std::string_view::npos) {
      value += kTomlEscaped[known];
      return;
    }
    const size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    uint32_t code = 0;
    const std::string_view number = text_.substr(std::min(at_, text_.size()), digits);
    const auto read = std::from_chars(number.data(), number.data() + number.size(), code, 16);
    const bool whole = digits > 0 && number.size() == digits && read.ptr == number.data() + digits;
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    if (!whole || is_surrogate || code > 0x10ffff) fail("unknown escape \\", kind, " in a string; \\\\ is a backslash");
    append_utf8(value, code);
    at_ += digits;
  }

  void skip_blanks() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++at_;
  }
  void skip_comment() {
    while (!at_end() && peek() != '\n') ++at_;
  }
  // Skips blanks and commas, and within a list that spans lines also line ends and comments.
  void skip_separators(bool spans_lines) {
    for (; !at_end(); ++at_) {
      if (spans_lines && peek() == '#') skip_comment();
      if (at_end() || (peek() == '\n' && !spans_lines)) return;
      if (std::string_view(" \t\r\n,").find(peek()) == std::string_view::npos) return;
      line_ += peek() == '\n';
    }
  }
  void skip_blank_lines() {
    for (skip_blanks(); at_line_end() && !at_end(); skip_blanks()) {
      skip_comment();
      if (at_end()) return;
      ++at_, ++line_;
    }
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  bool at_line_end() const { return at_end() || peek() == '\n' || peek() == '#'; }

  std::string line_text() const {
    const size_t newline = at_ == 0 ? std::string_view::npos : text_.rfind('\n', at_ - 1);
    const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    constexpr size_t kLongest = 60;
    std::string line(text_.substr(begin, text_.find('\n', begin) - begin));
    if (line.size() > kLongest) {
      line.resize(kLongest);
      line.append("...");
    }
    return line;
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw UsageError(file_, ":", line_, ": ", parts...);
  }

  std::string file_;
  std::string_view text_;
  std::map<std::string, int> line_of_;  // line of each name of the current table
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

ConfigFile read_config_file(const Path& file) {
  if (!std::filesystem::is_regular_file(file)) throw UsageError(file.string(), ": no such configuration file");
  const std::string text = read_file(file);
  const size_t mark = byte_order_mark_bytes(text);
  return TomlReader(file.string(), std::string_view(text).substr(mark)).all();
}

}  // namespace gyre
