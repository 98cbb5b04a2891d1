#include "gyre/data/text/cleaning/near_duplicates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"
#include "gyre/data/text/cleaning/text_hash.h"

namespace gyre {

namespace {

constexpr size_t kFirstHeads = 1024;
constexpr double kCompared = 0.99;  // share of the pairs with the given similarity that are compared

// MurmurHash3's finalizer.
uint32_t scrambled(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6B;
  x = (x ^ (x >> 13)) * 0xC2B2AE35;
  return x ^ (x >> 16);
}

// The length of a band, so that 1 - (1 - s^rows)^bands is large enough for similarity s.
size_t rows_for(double similarity, size_t hashes) {
  size_t rows = 1;
  while (rows < hashes) {
    const size_t longer = rows + 1, bands = hashes / longer;
    if (1 - std::pow(1 - std::pow(similarity, double(longer)), double(bands)) < kCompared) break;
    rows = longer;
  }
  return rows;
}

}  // namespace

void NearDuplicateOptions::validate() const {
  if (similarity == 0) return;
  expect(similarity >= 0.1 && similarity <= 1, "--near-duplicates", "0 or a similarity from 0.1 to 1", similarity);
  expect_between(1, 1000, "--shingle-words", shingle_words);
  expect_between(16, 4096, "--min-hashes", hashes);
}

NearDuplicates::NearDuplicates(const NearDuplicateOptions& options)
    : options_(options), seeds_(size_t(options.hashes)), rows_(rows_for(options.similarity, seeds_.size())) {
  bands_ = seeds_.size() / rows_;
  for (size_t i = 0; i < seeds_.size(); ++i) seeds_[i] = uint32_t(mix(hash_name("near duplicates"), i));
  heads_.assign(bands_, std::vector<uint32_t>(kFirstHeads));
}

NearDuplicates::Signature NearDuplicates::signature(std::span<const uint64_t> words) const {
  if (words.empty()) return {};
  std::vector<uint32_t> least(seeds_.size(), std::numeric_limits<uint32_t>::max());
  const size_t length = std::min(words.size(), size_t(options_.shingle_words));
  for (size_t at = 0; at + length <= words.size(); ++at) {
    uint64_t shingle = 0;
    for (const uint64_t word : words.subspan(at, length)) shingle = mix(shingle, word);
    const auto low = uint32_t(shingle);
    for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], scrambled(low ^ seeds_[i]));
  }
  return {least.begin(), least.end()};
}

// The slot of the texts with the same entries in a band, or the free one where they belong.
size_t NearDuplicates::slot_of(size_t table, std::span<const uint16_t> rows) const {
  const std::vector<uint32_t>& heads = heads_[table];
  const TextHash hash = hash_text({reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
  size_t at = hash.low & (heads.size() - 1);
  while (heads[at] != 0 && !std::ranges::equal(band(stored(heads[at] - 1), table), rows))
    at = (at + 1) & (heads.size() - 1);
  return at;
}

std::optional<NearDuplicates::Match> NearDuplicates::find_or_add(const Signature& signature, uint64_t number) {
  if (signature.empty()) return std::nullopt;
  std::vector<size_t> slots;
  std::vector<uint32_t> candidates;
  for (size_t i = 0; i < bands_; ++i) {
    slots.push_back(slot_of(i, band(signature, i)));
    for (uint32_t text = heads_[i][slots[i]]; text != 0; text = before_[(text - 1) * bands_ + i])
      candidates.push_back(text - 1);
  }
  std::ranges::sort(candidates);
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (const uint32_t text : candidates) {
    const std::span<const uint16_t> other = stored(text);
    size_t equal = 0;
    for (size_t i = 0; i < other.size(); ++i) equal += other[i] == signature[i];
    const double similarity = double(equal) / double(other.size());
    if (similarity >= options_.similarity) return Match{numbers_[text], similarity};
  }
  require(numbers_.size() < std::numeric_limits<uint32_t>::max(), "[data] too many documents to find near-duplicates");
  for (size_t i = 0; i < bands_; ++i) {
    before_.push_back(heads_[i][slots[i]]);
    heads_[i][slots[i]] = uint32_t(numbers_.size() + 1);
  }
  signatures_.insert(signatures_.end(), signature.begin(), signature.end());
  numbers_.push_back(number);
  if (numbers_.size() * 2 > heads_[0].size()) grow();
  return std::nullopt;
}

void NearDuplicates::grow() {
  for (size_t i = 0; i < bands_; ++i) {
    std::vector<uint32_t> old(heads_[i].size() * 2);
    old.swap(heads_[i]);
    for (const uint32_t head : old)
      if (head != 0) heads_[i][slot_of(i, band(stored(head - 1), i))] = head;
  }
}

}  // namespace gyre
