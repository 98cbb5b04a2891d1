#include "gyre/data/text/cleaning/text_comparison.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

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

using Text = std::vector<std::string>;

// Writes texts with the random numbers of a stream.
class Writer {
 public:
  explicit Writer(uint64_t stream) : stream_(stream) {}
  double draw() { return random_uniform(3, stream_, count_++); }
  // As in language, few words are frequent.
  std::string word() {
    const double u = draw();
    return concat("w", int(u * u * 3000));
  }
  Text text(size_t count) {
    Text result;
    for (size_t i = 0; i < count; ++i) result.push_back(word());
    return result;
  }
  // The words with punctuation, line ends and capitals, which do not matter.
  std::string print(const Text& text) {
    constexpr const char* kBetween[] = {" ", ", ", ".\n", "\n\n", " - "};
    std::string printed;
    for (const std::string& word : text) {
      printed += concat(draw() < 0.1 ? "W" : "w", word.substr(1), kBetween[size_t(draw() * 5)]);
    }
    return printed;
  }

 private:
  uint64_t stream_, count_ = 0;
};

// A text of 200 words, of which the last 20 repeat others, and what an editor made of it: replaced a share of the
// words, wrote another end, or moved the beginning to the end and left a part out.
std::pair<Text, Text> edited_text(Writer& writer, int kind, double share) {
  Text text = writer.text(180);
  text.insert(text.end(), text.begin() + 40, text.begin() + 60);
  Text edited = text;
  if (kind == 0) {
    for (std::string& word : edited)
      if (writer.draw() < share * 0.2) word = writer.word();
  } else if (kind == 1) {
    const auto kept = size_t(double(text.size()) * (1 - share));
    edited.resize(kept);
    for (const std::string& word : writer.text(text.size() - kept)) edited.push_back(word);
  } else {
    std::ranges::rotate(edited, edited.begin() + ptrdiff_t(writer.draw() * 100));
    edited.resize(size_t(double(text.size()) * (1 - share * 0.7)));
  }
  return {text, edited};
}

std::set<Text> shingles_of(const Text& text, ptrdiff_t length) {
  std::set<Text> shingles;
  for (auto at = text.begin(); text.end() - at >= length; ++at) shingles.insert(Text(at, at + length));
  return shingles;
}

// The Jaccard similarity of the sets of shingles, counted.
double exact_similarity(const Text& a, const Text& b, int shingle_words) {
  const std::set<Text> of_a = shingles_of(a, shingle_words), of_b = shingles_of(b, shingle_words);
  const auto shared = size_t(std::ranges::count_if(of_a, [&](const Text& shingle) { return of_b.contains(shingle); }));
  return double(shared) / double(of_a.size() + of_b.size() - shared);
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

TEST_CASE("near-duplicates: texts well above the limit by their exact similarity are found, those well below are not") {
  const NearDuplicateOptions options{.similarity = 0.8};
  NearDuplicates near(options);
  constexpr int kTexts = 300;
  // Five standard errors of the estimate from the limit.
  constexpr double kSurelyFound = 0.92, kSurelyNot = 0.6;
  std::vector<Text> edited;
  std::vector<double> exact;
  std::vector<NearDuplicates::Signature> signatures;
  for (int i = 0; i < kTexts; ++i) {
    Writer writer{uint64_t(i)};
    const auto [text, other] = edited_text(writer, i % 3, double(i / 3) / (kTexts / 3));
    exact.push_back(exact_similarity(text, other, options.shingle_words));
    edited.push_back(other);
    signatures.push_back(near.signature(compared_words(writer.print(text))));
    CHECK(!near.find_or_add(signatures.back(), uint64_t(i)));
  }
  int above = 0, below = 0;
  double error_sum = 0;
  for (int i = 0; i < kTexts; ++i) {
    const double similarity = exact[size_t(i)];
    CAPTURE(i);
    CAPTURE(similarity);
    Writer printer{uint64_t(kTexts + i)};
    const NearDuplicates::Signature signature = near.signature(compared_words(printer.print(edited[size_t(i)])));
    size_t equal = 0;
    for (size_t h = 0; h < signature.size(); ++h) equal += signature[h] == signatures[size_t(i)][h];
    const double estimate = double(equal) / double(signature.size());
    CHECK(std::abs(estimate - similarity) < 0.22);
    error_sum += estimate - similarity;
    const auto match = near.find_or_add(signature, uint64_t(kTexts + i));
    if (match) CHECK(match->number == uint64_t(i));
    if (similarity >= kSurelyFound) CHECK(match.has_value());
    if (similarity <= kSurelyNot) CHECK(!match.has_value());
    above += similarity >= kSurelyFound;
    below += similarity <= kSurelyNot;
  }
  CHECK(std::abs(error_sum / kTexts) < 0.02);
  CHECK(above >= 10);
  CHECK(below >= 50);
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
