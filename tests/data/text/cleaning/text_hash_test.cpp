#include <doctest/doctest.h>

#include <string>

#include "gyre/data/text/cleaning/text_comparison.h"

using namespace gyre;

TEST_CASE("text hashes: boundaries between texts and zero bytes count") {
  const auto pair = [](std::string_view a, std::string_view b) { return pair_key(hash_text(a), hash_text(b)); };
  CHECK(pair("ab", "c") != pair("a", "bc"));
  CHECK(hash_text(std::string(3, '\0')) != hash_text(std::string(4, '\0')));
  CHECK(hash_text("") != hash_text(std::string(1, '\0')));
  CHECK(pair("a", "b") != pair("b", "a"));
  CHECK(hash_text("12345678x") != hash_text("12345678y"));
}

TEST_CASE("text hashes: every bit of the text changes about half of the bits of both words") {
  const std::string text = "The quick brown fox";
  const TextHash whole = hash_text(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = char(other[bit / 8] ^ (1 << bit % 8));
    const TextHash hash = hash_text(other);
    const int high = __builtin_popcountll(hash.high ^ whole.high), low = __builtin_popcountll(hash.low ^ whole.low);
    CAPTURE(bit);
    CHECK(high > 8);
    CHECK(high < 56);
    CHECK(low > 8);
    CHECK(low < 56);
  }
}

TEST_CASE("text hash table: finds the first number of every hash while it grows") {
  TextHashTable table;
  constexpr uint64_t kCount = 100000;
  for (uint64_t i = 1; i <= kCount; ++i) REQUIRE(table.find_or_add(hash_text(std::to_string(i)), i) == 0);
  for (uint64_t i = 1; i <= kCount; ++i) REQUIRE(table.find_or_add(hash_text(std::to_string(i)), 7) == i);
  CHECK(table.size() == kCount);
  CHECK(table.find(hash_text("0")) == 0);
}
