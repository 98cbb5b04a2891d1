#include <doctest/doctest.h>

#include "gyre/data/text/cleaning/text_comparison.h"

using namespace gyre;

namespace {

std::vector<uint64_t> words(const char* text) { return compared_words(text); }

}  // namespace

TEST_CASE("n-gram index: runs of words are found anywhere in a text") {
  NgramIndex index(10);
  index.add(words("a b c d e f g h i j k l"));  // 3 runs
  index.add(words("x b c d e f g h i j k"));    // 2 runs, one of them known
  CHECK(index.texts() == 2);
  CHECK(index.ngrams() == 4);
  CHECK(index.ngrams_of(0) == std::vector<uint32_t>{0, 1, 2});
  CHECK(index.ngrams_of(1) == std::vector<uint32_t>{3, 1});
  const auto found = index.find(words("and then B, c d e f g h\ni j K. And x b c d e f g h i j"), false);
  REQUIRE(found.size() == 2);
  CHECK(found[0].ngram == 1);
  CHECK(found[0].text == 0);
  CHECK(found[0].words == 10);
  CHECK(found[1].ngram == 3);
  CHECK(found[1].text == 1);
  CHECK(index.find(words("b c d e f g h i j z"), false).empty());
  CHECK(index.find(words("a b c d e f g h i j k l"), true).size() == 1);
  CHECK(index.find({}, false).empty());
}

TEST_CASE("n-gram index: short texts are found as a run from 8 words on, and shorter ones as a whole") {
  NgramIndex index(13);
  index.add(words("what is the answer to this question now"));  // 8 words
  index.add(words("yes it is"));
  index.add({});
  CHECK(index.find(words("so what is the answer to this question now then"), false).size() == 1);
  CHECK(index.find(words("so yes it is then"), false).empty());
  CHECK(index.find(words("Yes, it is!"), false).size() == 1);
  CHECK(index.ngrams_of(2).empty());
}
