#include "gyre/data/synthetic/embedded_corpus.h"

#include <span>
#include <unordered_set>

#include "gyre/core/error.h"
#include "gyre/core/random.h"
#include "gyre/data/synthetic/phrases.h"
#include "gyre/data/synthetic/templates.h"

namespace gyre {
namespace {

constexpr uint64_t kHeldoutOneIn = 50;

// The split counts as exhausted after this many pairs without a new sentence.
constexpr size_t kMaxPairsWithoutNew = 1'000'000;

// Handles ASCII letters and umlauts. Upper and lower case of an umlaut differ by 0x20 in the second byte of UTF-8.
void capitalize(std::string& text) {
  const auto lower = [](char c, char first, char last) { return c >= first && c <= last; };
  if (lower(text[0], 'a', 'z')) text[0] = char(text[0] - 0x20);
  if (text.starts_with("ä") || text.starts_with("ö") || text.starts_with("ü")) text[1] = char(text[1] - 0x20);
}

}  // namespace

SentencePair corpus_pair(uint64_t seed, uint64_t index) {
  using corpus::Template;
  const std::span<const Template> groups[] = {corpus::clause_templates(), corpus::number_templates(),
                                              corpus::calendar_templates()};
  uint32_t total = 0;
  for (const auto& group : groups) {
    for (const Template& pattern : group) total += pattern.weight;
  }
  corpus::Draw draw(seed, index);
  uint32_t ticket = draw.between(0, total - 1);
  for (const auto& group : groups) {
    for (const Template& pattern : group) {
      if (ticket < pattern.weight) {
        corpus::Phrase phrase = pattern.make(draw);
        capitalize(phrase.english);
        capitalize(phrase.german);
        return {std::move(phrase.english), std::move(phrase.german)};
      }
      ticket -= pattern.weight;
    }
  }
  throw Error("[embedded corpus] unreachable: the draw exceeds the total weight");
}

Split split_of(const SentencePair& pair) {
  return mix(hash_name(pair.target), 0) % kHeldoutOneIn == 0 ? Split::heldout : Split::train;
}

std::vector<SentencePair> generate_corpus(uint64_t seed, Split split, size_t count) {
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> seen;
  pairs.reserve(count);
  uint64_t last_new = 0;
  for (uint64_t index = 0; pairs.size() < count; ++index) {
    require(index - last_new < kMaxPairsWithoutNew, "[embedded corpus] expected ", count,
            " distinct sentences, got only ", pairs.size());
    SentencePair pair = corpus_pair(seed, index);
    if (split_of(pair) != split || !seen.insert(pair.source).second) continue;
    pairs.push_back(std::move(pair));
    last_new = index;
  }
  return pairs;
}

}  // namespace gyre
