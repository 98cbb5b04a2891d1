#include "gyre/data/text/utf8.h"

#include <doctest/doctest.h>

#include <string>

using gyre::first_invalid_utf8;

namespace {

std::string encode(uint32_t c) {
  if (c < 0x80) return {char(c)};
  if (c < 0x800) return {char(0xC0 | (c >> 6)), char(0x80 | (c & 63))};
  if (c < 0x10000) return {char(0xE0 | (c >> 12)), char(0x80 | ((c >> 6) & 63)), char(0x80 | (c & 63))};
  return {char(0xF0 | (c >> 18)), char(0x80 | ((c >> 12) & 63)), char(0x80 | ((c >> 6) & 63)), char(0x80 | (c & 63))};
}

}  // namespace

TEST_CASE("UTF-8: every code point is valid except surrogates") {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
    const bool is_valid = !first_invalid_utf8(encode(c)).has_value();
    if (is_valid == is_surrogate) FAIL("code point ", c);
    if (!is_surrogate && gyre::split_characters(encode(c)).size() != 1) FAIL("code point ", c, " is split");
  }
}

TEST_CASE("UTF-8: the offset of the first invalid byte is found") {
  const std::string prefix = "eight ascii bytes and \xC3\xA4";
  for (const std::string bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xFF", "\xFE", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3\x28", "\xE2\x28\xA1"}) {
    CAPTURE(bad);
    CHECK(first_invalid_utf8(prefix + bad) == prefix.size());
    CHECK(first_invalid_utf8(prefix + bad + " and more text") == prefix.size());
  }
  CHECK(!first_invalid_utf8(prefix).has_value());
  CHECK(!first_invalid_utf8("").has_value());
  CHECK(!first_invalid_utf8(std::string(100, '\0')).has_value());
}

TEST_CASE("UTF-8: text is split into characters, and each invalid byte is one character") {
  const std::string_view text = "a\xC3\xA4\xF0\x9F\x98\x80\xFF\xE2\x82";
  const auto parts = gyre::split_characters(text);
  const std::vector<std::string_view> expected{"a", "\xC3\xA4", "\xF0\x9F\x98\x80", "\xFF", "\xE2", "\x82"};
  CHECK(parts == expected);
  CHECK(gyre::count_characters(text) == expected.size());
}

TEST_CASE("UTF-8: bytes that are no character are replaced as in Python") {
  // bytes.decode("utf-8", errors="replace"), with ? for U+FFFD
  const std::pair<std::string, std::string> cases[] = {
      {"\x80", "?"},
      {"\x61\xC3", "a?"},
      {"\xE2\x82", "?"},
      {"\xE2\x82\xAC\xE2", "\xE2\x82\xAC\x3F"},
      {"\xE0\x9F\xBF", "???"},
      {"\xED\xA0\x80", "???"},
      {"\xF0\x9F\x98", "?"},
      {"\xF0\x9F\x28", "?("},
      {"\xF4\x90\x80\x80", "????"},
      {"\xF8\x80\x80\x80\x80", "?????"},
      {"\xE2\x28\xA1", "?(?"},
      {"\xC0\x80", "??"},
      {"\xF0\x90\x80\xE2\x82\xAC", "\x3F\xE2\x82\xAC"},
      {"\xFF\xFE", "??"},
  };
  for (const auto& [bytes, wanted] : cases) {
    CAPTURE(wanted);
    std::string replaced = gyre::replace_invalid_utf8("\xC3\xA4" + bytes + "z");
    CHECK(!first_invalid_utf8(replaced));
    for (size_t at; (at = replaced.find("\xEF\xBF\xBD")) != std::string::npos;) replaced.replace(at, 3, "?");
    CHECK(replaced == "\xC3\xA4" + wanted + "z");
  }
  CHECK(gyre::replace_invalid_utf8("\xC3\xA4 and \xE2\x82\xAC") == "\xC3\xA4 and \xE2\x82\xAC");
}

using namespace gyre;

TEST_CASE("printable text: control bytes and invalid UTF-8 are escaped") {
  CHECK(printable("one\ntwo \xc3\xa4 \xe2\x82\xac") == "one\ntwo \xc3\xa4 \xe2\x82\xac");
  CHECK(printable("\x1b[31m\r\x7f") == "\\x1b[31m\\x0d\\x7f");
  CHECK(printable("\xff\xc3 a") == "\\xff\\xc3 a");
  CHECK(printable("\xc2\x9b[0m \xc2\xa0") == "\\xc2\\x9b[0m \xc2\xa0");
  CHECK(printable("cut \xe2\x82") == "cut \\xe2\\x82");
}

TEST_CASE("printable text: names and messages keep to their lines") {
  CHECK(printable_line("a\nok: trusted") == "a\\x0aok: trusted");
  CHECK(printable_message("[file] a\nok: trusted\n  missing: b\n") == "[file] a\n  ok: trusted\n  missing: b\n");
  CHECK(printable_message("\x1b]0;title\x07") == "\\x1b]0;title\\x07");
}
