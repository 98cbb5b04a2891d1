#include "gyre/data/text/cleaning/text_comparison.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/random.h"

namespace gyre {
namespace {

constexpr uint64_t kNoWord = 0;

// The steps of FNV-1a, with whole characters instead of bytes.
uint64_t extended(uint64_t hash, uint32_t character) { return (hash ^ character) * 0x100000001B3; }

bool is_accent(UChar32 c) { return (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0; }

bool is_word_by_itself(UChar32 c) {
  const int32_t breaking = u_getIntPropertyValue(c, UCHAR_LINE_BREAK);
  return breaking == U_LB_IDEOGRAPHIC || breaking == U_LB_CONDITIONAL_JAPANESE_STARTER ||
         breaking == U_LB_COMPLEX_CONTEXT;
}

class Words {
 public:
  void add_ascii(uint8_t c) {
    if (c >= 'A' && c <= 'Z') c = uint8_t(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return extend(c);
    end();
  }

  void add(UChar32 c) {
    if (c < 0 || (!u_isalnum(c) && !is_accent(c))) return end();
    const bool is_alone = is_word_by_itself(c);
    if (is_alone) end();
    extend(uint32_t(u_foldCase(c, U_FOLD_CASE_DEFAULT)));
    if (is_alone) end();
  }

  std::vector<uint64_t> finish() {
    end();
    return std::move(hashes_);
  }

 private:
  void extend(uint32_t c) { word_ = extended(word_ == kNoWord ? 0xCBF29CE484222325 : word_, c); }
  void end() {
    if (word_ != kNoWord) hashes_.push_back(mix(word_, 0));
    word_ = kNoWord;
  }

  uint64_t word_ = kNoWord;
  std::vector<uint64_t> hashes_;
};

}  // namespace

std::vector<uint64_t> compared_words(std::string_view text) {
  Words words;
  const auto size = int64_t(text.size());
  const char* const bytes = text.data();
  for (int64_t at = 0; at < size;) {
    if (uint8_t(bytes[at]) < 0x80) {
      words.add_ascii(uint8_t(bytes[at++]));
      continue;
    }
    UChar32 c = U_SENTINEL;
    U8_NEXT(bytes, at, size, c);
    words.add(c);
  }
  return words.finish();
}

namespace {

constexpr size_t kFirstSlots = 1024;

// Two chains of the finalizer of splitmix64. They start from different values, so they collide independently.
void absorb(TextHash& hash, uint64_t word) {
  hash.high = mix(hash.high ^ 0x6A09E667F3BCC908, word);  // fraction of the square root of 2
  hash.low = mix(hash.low ^ 0xBB67AE8584CAA73B, word);    // fraction of the square root of 3
}

}  // namespace

TextHash hash_text(std::string_view text, TextHash seed) {
  TextHash hash = seed;
  for (size_t at = 0; at < text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<size_t>(8, text.size() - at));
    absorb(hash, word);
  }
  absorb(hash, text.size());
  return hash;
}

TextHashTable::TextHashTable() : slots_(kFirstSlots) {}

size_t TextHashTable::slot_of(const TextHash& hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash.low & mask;
  while (slots_[at].number != 0 && slots_[at].hash != hash) at = (at + 1) & mask;
  return at;
}

uint64_t TextHashTable::find(const TextHash& hash) const { return slots_[slot_of(hash)].number; }

uint64_t TextHashTable::find_or_add(const TextHash& hash, uint64_t number) {
  Slot& slot = slots_[slot_of(hash)];
  if (slot.number != 0) return slot.number;
  slot = {hash, number};
  if (++size_ * 4 > slots_.size() * 3) grow();
  return 0;
}

void TextHashTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.number != 0) slots_[slot_of(slot.hash)] = slot;
  }
}

namespace {

constexpr uint64_t kBase = 0x9E3779B97F4A7C15;  // odd

// Hashes of runs of words: sums of the words times powers of kBase, modulo 2^64.
class Runs {
 public:
  explicit Runs(std::span<const uint64_t> words) : prefixes_(words.size() + 1) {
    for (size_t i = 0; i < words.size(); ++i) prefixes_[i + 1] = prefixes_[i] * kBase + words[i];
  }

  // power: that of the length. A run that counts only as a whole text has another hash.
  TextHash hash(size_t begin, size_t length, uint64_t power) const {
    const uint64_t sum = prefixes_[begin + length] - prefixes_[begin] * power;
    const bool is_whole = length < NgramIndex::kFewest;
    return {sum, mix(sum, length * 2 + (is_whole ? 1 : 0))};
  }

 private:
  std::vector<uint64_t> prefixes_;
};

uint64_t power_of(size_t length) {
  uint64_t power = 1;
  for (size_t i = 0; i < length; ++i) power *= kBase;
  return power;
}

}  // namespace

uint32_t NgramIndex::number_of(const TextHash& hash) {
  const uint64_t known = table_.find_or_add(hash, first_text_.size() + 1);
  if (known != 0) return uint32_t(known - 1);
  require(first_text_.size() < std::numeric_limits<uint32_t>::max(), "[data] too many n-grams in the held-out sets");
  return uint32_t(first_text_.size());
}

void NgramIndex::add(std::span<const uint64_t> words) {
  const auto text = uint32_t(ngrams_of_.size());
  std::vector<uint32_t>& own = ngrams_of_.emplace_back();
  if (words.empty()) return;
  const size_t length = std::min(words.size(), n_);
  const auto place = std::ranges::lower_bound(lengths_, length);
  if (place == lengths_.end() || *place != length) lengths_.insert(place, length);
  const Runs runs(words);
  const uint64_t power = power_of(length);
  for (size_t at = 0; at + length <= words.size(); ++at) {
    const uint32_t ngram = number_of(runs.hash(at, length, power));
    if (ngram == first_text_.size()) {
      first_text_.push_back(text);
      length_.push_back(uint32_t(length));
    }
    own.push_back(ngram);
  }
}

std::vector<NgramIndex::Match> NgramIndex::find(std::span<const uint64_t> words, bool is_first) const {
  std::vector<Match> matches;
  const Runs runs(words);
  for (const size_t length : lengths_) {
    if (length > words.size() || (length < kFewest && length != words.size())) continue;
    const uint64_t power = power_of(length);
    for (size_t at = 0; at + length <= words.size(); ++at) {
      const uint64_t known = table_.find(runs.hash(at, length, power));
      if (known == 0) continue;
      const auto ngram = uint32_t(known - 1);
      matches.push_back({ngram, length_[ngram], first_text_[ngram]});
      if (is_first) return matches;
    }
  }
  return matches;
}

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
