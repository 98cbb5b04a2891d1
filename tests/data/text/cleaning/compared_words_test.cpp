#include <doctest/doctest.h>

#include "gyre/data/text/cleaning/text_comparison.h"

using gyre::compared_words;

TEST_CASE("compared words: case, punctuation, white space and line breaks do not matter") {
  CHECK(compared_words("Hello, World-wide!\n2nd  line") == compared_words("hello world wide 2ND line"));
  CHECK(compared_words("hello world") != compared_words("hello worlds"));
  CHECK(compared_words("Ä ö\u00A0É") == compared_words("ä Ö é"));
  CHECK(compared_words("").empty());
  CHECK(compared_words(" -- \u2014 !").empty());
  CHECK(compared_words("e\u0301a").size() == 1);  // a mark belongs to its word
  CHECK(compared_words("don't") == compared_words("don t"));
}

TEST_CASE("compared words: characters of scripts without spaces are words") {
  CHECK(compared_words("\u4E2D\u6587\u5B57") == compared_words("\u4E2D \u6587 \u5B57"));
  CHECK(compared_words("abc\u4E2Ddef").size() == 3);
  CHECK(compared_words("\u306F\u3044").size() == 2);
  CHECK(compared_words("\u0E01\u0E02").size() == 2);
  CHECK(compared_words("\uD55C\uAD6D").size() == 1);  // Korean has spaces
}
