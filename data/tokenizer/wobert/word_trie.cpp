#include "gyre/data/tokenizer/wobert/word_trie.h"

#include <algorithm>

namespace gyre {

WordTrie::WordTrie(const std::vector<std::pair<std::u32string, double>>& words) {
  struct Range {  // the words that begin with the text of a node
    size_t begin, end, length;
  };
  std::vector<Range> ranges{{0, words.size(), 0}};
  characters_.push_back(0);
  for (size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, length] = ranges[node];
    const bool is_word = begin < end && words[begin].first.size() == length;
    weights_.push_back(is_word ? words[begin].second : kNoWord);
    first_child_.push_back(int32_t(ranges.size()));
    for (begin += is_word; begin < end;) {
      const char32_t c = words[begin].first[length];
      const size_t first = begin;
      while (begin < end && words[begin].first[length] == c) ++begin;
      characters_.push_back(c);
      ranges.push_back({first, begin, length + 1});
    }
  }
  first_child_.push_back(int32_t(ranges.size()));
}

int32_t WordTrie::child(int32_t node, char32_t c) const {
  const auto begin = characters_.begin() + first_child_[size_t(node)];
  const auto end = characters_.begin() + first_child_[size_t(node) + 1];
  const auto place = std::lower_bound(begin, end, c);
  return place != end && *place == c ? int32_t(place - characters_.begin()) : kNoNode;
}

}  // namespace gyre
