// Tests the properties of the embedded corpus that training relies on: pairs are a pure function of seed and index,
// each sentence has one translation, and the splits are disjoint.
#include "gyre/data/synthetic/embedded_corpus.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <unordered_map>
#include <unordered_set>

#include "gyre/core/error.h"

using namespace gyre;

namespace gyre {
static std::ostream& operator<<(std::ostream& out, const SentencePair& p) {
  return out << p.source << " | " << p.target;
}
}  // namespace gyre

namespace {

size_t word_count(const std::string& text) { return size_t(std::ranges::count(text, ' ')) + 1; }

}  // namespace

TEST_CASE("corpus: a pair is a pure function of seed and index") {
  std::vector<SentencePair> forward;
  for (uint64_t i = 0; i < 1000; ++i) forward.push_back(corpus_pair(7, i));
  for (uint64_t i = 1000; i-- > 0;) CHECK(corpus_pair(7, i) == forward[i]);
  size_t same = 0;
  for (uint64_t i = 0; i < 1000; ++i) same += corpus_pair(8, i) == forward[i];
  CHECK(same < 20);
}

TEST_CASE("corpus: the pairs are the same on every machine and with every compiler") {
  CHECK(corpus_pair(1, 0) == SentencePair{"He wants to eat twelve bananas.", "Er will zwölf Bananen essen."});
  CHECK(corpus_pair(1, 1) ==
        SentencePair{"The woman who lost seventy-nine clocks pays ninety-eight pounds.",
                     "Die Frau, die neunundsiebzig Uhren verloren hat, bezahlt achtundneunzig Pfund."});
  CHECK(corpus_pair(1, 1'000'000) == SentencePair{"They counted five chairs and eleven green cups.",
                                                  "Sie haben fünf Stühle und elf grüne Tassen gezählt."});
}

TEST_CASE("corpus: an English sentence has one translation, and the splits share no sentence on either side") {
  std::unordered_map<std::string, std::string> translation;
  std::unordered_map<std::string, Split> source_split, target_split;
  size_t clashes = 0, shared = 0, heldout = 0;
  constexpr uint64_t kPairs = 120'000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    const SentencePair pair = corpus_pair(i % 2, i);  // the property holds across seeds
    const Split split = split_of(pair);
    heldout += split == Split::heldout;
    clashes += translation.emplace(pair.source, pair.target).first->second != pair.target;
    shared += source_split.emplace(pair.source, split).first->second != split;
    shared += target_split.emplace(pair.target, split).first->second != split;
  }
  CHECK(clashes == 0);
  CHECK(shared == 0);
  CHECK(heldout > kPairs / 50 * 8 / 10);
  CHECK(heldout < kPairs / 50 * 12 / 10);
  CHECK(translation.size() > kPairs * 3 / 4);  // most sentences occur once
}

TEST_CASE("corpus: sentences are well-formed and short, and contain numbers from zero to a million") {
  size_t english = 0, german = 0, questions = 0, millions = 0, clock = 0;
  constexpr size_t kPairs = 20'000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    const SentencePair pair = corpus_pair(3, i);
    for (const std::string& text : {pair.source, pair.target}) {
      CHECK_MESSAGE((text.ends_with('.') || text.ends_with('?')), text);
      CHECK_MESSAGE(text.find("  ") == std::string::npos, text);
      CHECK_MESSAGE(text.find(" ,") == std::string::npos, text);
      const bool upper =
          (text[0] >= 'A' && text[0] <= 'Z') || text.starts_with("Ä") || text.starts_with("Ö") || text.starts_with("Ü");
      CHECK_MESSAGE(upper, text);
      CHECK(word_count(text) <= 30);
    }
    CHECK(pair.source.back() == pair.target.back());
    english += word_count(pair.source);
    german += word_count(pair.target);
    questions += pair.source.back() == '?';
    millions += pair.target.find("Million") != std::string::npos;
    clock += pair.target.find("halb ") != std::string::npos;
  }
  MESSAGE("mean words: English ", double(english) / kPairs, ", German ", double(german) / kPairs);
  CHECK(english > 7 * kPairs);
  CHECK(english < 11 * kPairs);
  CHECK(german > 6 * kPairs);
  CHECK(german < 10 * kPairs);
  CHECK(questions > kPairs / 100);
  CHECK(millions > 10);
  CHECK(clock > kPairs / 50);
}

TEST_CASE("generate_corpus: returns the first distinct pairs of a split") {
  const auto train = generate_corpus(5, Split::train, 5000);
  const auto heldout = generate_corpus(5, Split::heldout, 500);
  CHECK(train.size() == 5000);
  CHECK(heldout.size() == 500);
  CHECK(generate_corpus(5, Split::train, 5000) == train);

  std::unordered_set<std::string> sources, targets;
  for (const SentencePair& pair : train) {
    CHECK(split_of(pair) == Split::train);
    CHECK(sources.insert(pair.source).second);
    targets.insert(pair.target);
  }
  for (const SentencePair& pair : heldout) {
    CHECK(split_of(pair) == Split::heldout);
    CHECK(sources.insert(pair.source).second);
    CHECK(!targets.contains(pair.target));
  }

  const auto shorter = generate_corpus(5, Split::train, 100);
  CHECK(std::equal(shorter.begin(), shorter.end(), train.begin()));
  CHECK(generate_corpus(5, Split::train, 0).empty());
}
