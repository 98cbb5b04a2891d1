#include "gyre/data/tokenizer/merge_learner.h"

#include <algorithm>
#include <utility>

namespace gyre {

uint32_t PairTable::index_of(int32_t left, int32_t right) {
  size_t slot = slot_of(left, right);
  if (slots_[slot] != kFree) return slots_[slot];
  if (2 * (pairs_.size() + 1) > slots_.size()) {
    grow();
    slot = slot_of(left, right);
  }
  slots_[slot] = uint32_t(pairs_.size());
  pairs_.push_back({left, right});
  return slots_[slot];
}

// The slot of the pair, or the free one for it. The number of slots is a power of two.
size_t PairTable::slot_of(int32_t left, int32_t right) const {
  const uint64_t key = uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  size_t slot = ((key * 0x9E3779B97F4A7C15) >> 29) & (slots_.size() - 1);
  while (slots_[slot] != kFree && (pairs_[slots_[slot]].left != left || pairs_[slots_[slot]].right != right)) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return slot;
}

void PairTable::grow() {
  slots_.assign(2 * slots_.size(), kFree);
  for (uint32_t index = 0; index < pairs_.size(); ++index) {
    slots_[slot_of(pairs_[index].left, pairs_[index].right)] = index;
  }
}

int32_t MergeLearner::id_of(std::string symbol) {
  const auto [place, is_new] = ids_.try_emplace(symbol, int32_t(symbols_.size()));
  if (is_new) symbols_.push_back(std::move(symbol));
  return place->second;
}

void MergeLearner::add_word(const std::vector<int32_t>& symbols, uint64_t count) {
  const auto word = uint32_t(begin_.size());
  begin_.push_back(text_.size());
  length_.push_back(uint32_t(symbols.size()));
  count_.push_back(int64_t(count));
  text_.insert(text_.end(), symbols.begin(), symbols.end());
  for (size_t i = 1; i < symbols.size(); ++i) change(word, symbols[i - 1], symbols[i], 1);
  raised_.clear();
}

void MergeLearner::queue_all_pairs() {
  for (uint32_t pair = 0; pair < pairs_.size(); ++pair) queue_pair(pair);
}

bool MergeLearner::is_less(const Candidate& a, const Candidate& b) const {
  if (a.count != b.count) return a.count < b.count;
  const SymbolPair &p = pairs_[a.pair], &q = pairs_[b.pair];
  if (tie_ == Tie::smallest_ids) return p.left != q.left ? p.left > q.left : p.right > q.right;
  const int order = symbols_[size_t(p.left)].compare(symbols_[size_t(q.left)]);
  return order != 0 ? order < 0 : symbols_[size_t(p.right)] < symbols_[size_t(q.right)];
}

void MergeLearner::push(const Candidate& candidate) {
  queue_.push_back(candidate);
  std::push_heap(queue_.begin(), queue_.end(), [this](const auto& a, const auto& b) { return is_less(a, b); });
}

void MergeLearner::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), [this](const auto& a, const auto& b) { return is_less(a, b); });
  queue_.pop_back();
}

void MergeLearner::queue_pair(uint32_t index) {
  SymbolPair& pair = pairs_[index];
  const auto words = uint32_t(pair.words.size());
  if (pair.count > 0) push({pair.count, index, pair.queued, words});
  if (has_own_words_) pair.queued = words;
}

const MergeLearner::Candidate* MergeLearner::most_frequent() {
  while (!queue_.empty()) {
    Candidate best = queue_.front();
    const SymbolPair& pair = pairs_[best.pair];
    if (!pair.is_dormant && pair.count == best.count) return &queue_.front();
    pop();
    best.count = pair.count;
    if (!pair.is_dormant) push(best);
  }
  return nullptr;
}

void MergeLearner::merge(int32_t merged) {
  const Candidate best = queue_.front();
  pop();
  raised_.clear();
  if (has_own_words_) {
    for (uint32_t i = best.first; i < best.end; ++i) merge_in_word(pairs_[best.pair].words[i], best.pair, merged);
    SymbolPair& pair = pairs_[best.pair];
    if (best.first == 0 && best.end == pair.words.size()) {  // no other entry needs them
      pair.words = {};
      pair.queued = 0;
    }
  } else {
    const std::vector<uint32_t> words = std::exchange(pairs_[best.pair].words, {});
    for (const uint32_t word : words) merge_in_word(word, best.pair, merged);
    pairs_[best.pair].count = 0;
  }
  std::sort(raised_.begin(), raised_.end());
  raised_.erase(std::unique(raised_.begin(), raised_.end()), raised_.end());
  for (const uint32_t raised : raised_) queue_pair(raised);
}

void MergeLearner::merge_in_word(uint32_t word, uint32_t pair, int32_t merged) {
  int32_t* const symbols = text_.data() + begin_[word];
  const int32_t left = pairs_[pair].left, right = pairs_[pair].right;
  const uint32_t length = length_[word];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < length; ++i) {
    if (symbols[i] != left || i + 1 == length || symbols[i + 1] != right) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      change(word, symbols[kept - 1], left, -1);
      change(word, symbols[kept - 1], merged, 1);
    }
    if (i + 2 < length) {
      change(word, right, symbols[i + 2], -1);
      change(word, merged, symbols[i + 2], 1);
    }
    symbols[kept++] = merged;
    ++i;
  }
  length_[word] = kept;
}

uint32_t MergeLearner::change(uint32_t word, int32_t left, int32_t right, int sign) {
  const uint32_t index = pairs_.index_of(left, right);
  SymbolPair& pair = pairs_[index];
  pair.count += sign * count_[word];
  if (sign < 0) return index;
  raised_.push_back(index);
  if (pair.words.size() == pair.queued || pair.words.back() != word) pair.words.push_back(word);
  return index;
}

}  // namespace gyre
