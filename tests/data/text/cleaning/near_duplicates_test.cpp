#include "gyre/data/text/cleaning/near_duplicates.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

using namespace gyre;

namespace {

using Words = std::vector<uint64_t>;

// A text of distinct words: shingles of one word are its set.
Words words(uint64_t first, size_t count) {
  Words result;
  for (uint64_t i = 0; i < count; ++i) result.push_back(mix(7, first + i));
  return result;
}

}  // namespace

TEST_CASE("near-duplicates: signatures estimate the Jaccard similarity") {
  const NearDuplicates near({.similarity = 0.8, .shingle_words = 1, .hashes = 1024});
  for (const size_t shared : {0, 200, 500, 800, 1000}) {
    // 1000 words each, of which `shared` are the same.
    const auto a = near.signature(words(0, 1000)), b = near.signature(words(1000 - shared, 1000));
    size_t equal = 0;
    for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
    const double similarity = double(shared) / double(2000 - shared);
    CAPTURE(similarity);
    CHECK(std::abs(double(equal) / 1024 - similarity) < 0.06);
  }
}

TEST_CASE("near-duplicates: the first text that is similar enough is found, and added texts only") {
  NearDuplicates near({.similarity = 0.8, .shingle_words = 5, .hashes = 128});
  const Words text = words(0, 1000);
  Words edited = text, other = text;
  edited[500] = 1;                                         // changes 5 of 996 shingles
  for (size_t i = 0; i < 1000; i += 20) other[i] = i + 1;  // changes a quarter of the shingles: similarity 0.6
  CHECK(!near.find_or_add(near.signature(text), 11));
  const auto match = near.find_or_add(near.signature(edited), 12);
  REQUIRE(match);
  CHECK(match->number == 11);
  CHECK(match->similarity > 0.95);
  CHECK(!near.find_or_add(near.signature(other), 13));
  CHECK(near.find_or_add(near.signature(other), 14)->number == 13);
  CHECK(near.find_or_add(near.signature(text), 15)->number == 11);
  CHECK(!near.find_or_add(near.signature({}), 16));  // no words
  CHECK(!near.find_or_add(near.signature({}), 17));
  CHECK(!near.find_or_add(near.signature(words(5000, 2)), 18));  // shorter than a shingle
  CHECK(near.find_or_add(near.signature(words(5000, 2)), 19)->number == 18);
}

TEST_CASE("near-duplicates: bands compare 99 % of the pairs at the limit, and tables grow") {
  NearDuplicates near({.similarity = 0.8, .shingle_words = 1, .hashes = 128});
  CHECK(near.band_rows() == 6);
  int found = 0;
  constexpr int kTexts = 1500;
  for (int i = 0; i < kTexts; ++i)
    CHECK(!near.find_or_add(near.signature(words(uint64_t(i) * 1000, 200)), uint64_t(i)));
  for (int i = 0; i < kTexts; ++i) {
    const auto match = near.find_or_add(near.signature(words(uint64_t(i) * 1000 + 10, 200)), kTexts);  // 190 of 210
    found += match && match->number == uint64_t(i);
  }
  CHECK(found > kTexts * 98 / 100);
}

TEST_CASE("near-duplicates: options are checked") {
  CHECK_NOTHROW(NearDuplicateOptions{}.validate());
  CHECK_THROWS_AS(NearDuplicateOptions{.similarity = 1.1}.validate(), UsageError);
  CHECK_THROWS_AS((NearDuplicateOptions{.similarity = 0.8, .shingle_words = 0}.validate()), UsageError);
  CHECK_THROWS_AS((NearDuplicateOptions{.similarity = 0.8, .hashes = 1}.validate()), UsageError);
}
