#include <doctest/doctest.h>

#include "gyre/data/text/utf8.h"

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
