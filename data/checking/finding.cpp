#include "gyre/data/checking/finding.h"

#include <algorithm>

#include "gyre/data/text/cleaning/whitespace.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace {

using std::string_view;

bool is_blank_line(string_view line) {
  for (size_t at = 0; at < line.size();) {
    const size_t space = whitespace_bytes(line, at);
    if (space == 0) return false;
    at += space;
  }
  return true;
}

// Whether the text begins with a continuation byte that was shown as a character.
bool begins_with_shown_byte(string_view text) {
  if (text.size() >= 2 && uint8_t(text[0]) == 0xC2) return uint8_t(text[1]) >= 0x80 && uint8_t(text[1]) <= 0xBF;
  // Second bytes of ä, ö, ü, Ä, Ö, Ü, ß and common French letters that Windows-1252 shows above U+00FF.
  static constexpr string_view kShown[] = {"\xC5\xB8" /* Ÿ */,     "\xC5\x93" /* œ */,     "\xC5\x92" /* Œ */,
                                           "\xE2\x80\x9E" /* „ */, "\xE2\x80\x93" /* – */, "\xE2\x80\xB0" /* ‰ */,
                                           "\xE2\x80\xA1" /* ‡ */};
  return std::any_of(std::begin(kShown), std::end(kShown), [&](string_view shown) { return text.starts_with(shown); });
}

}  // namespace

bool looks_double_encoded(string_view text) {
  for (size_t at = 0; (at = text.find('\xC3', at)) != string_view::npos; ++at) {
    const string_view rest = text.substr(at + 1);
    if (rest.empty()) return false;
    const auto second = uint8_t(rest[0]);
    const bool is_lead = second == 0x83 || second == 0x82;  // Ã, Â
    if (is_lead && begins_with_shown_byte(rest.substr(1))) return true;
    if (second == 0xA2 && (rest.substr(1).starts_with("\xE2\x82\xAC") || rest.substr(1).starts_with("\xC2\x80")))
      return true;
  }
  return false;
}

LineFaults find_line_faults(string_view line) {
  LineFaults faults;
  const auto set = [&](LineFault fault, bool value) { faults.faults_[size_t(fault)] = value; };
  set(LineFault::invalid_utf8, first_invalid_utf8(line).has_value());
  set(LineFault::blank, is_blank_line(line));
  set(LineFault::nul, line.find('\0') != string_view::npos);
  set(LineFault::mark, line.find(kByteOrderMark) != string_view::npos);
  set(LineFault::replacement, line.find("\xEF\xBF\xBD") != string_view::npos);
  set(LineFault::double_encoded, looks_double_encoded(line));
  return faults;
}

}  // namespace gyre
