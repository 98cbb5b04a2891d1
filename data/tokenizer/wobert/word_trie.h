// A trie of weighted words, which finds all words that begin at a position of a text in one pass.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gyre {

class WordTrie {
 public:
  static constexpr int32_t kRoot = 0, kNoNode = -1;
  static constexpr double kNoWord = -std::numeric_limits<double>::infinity();

  // words: distinct, non-empty words in the order of their code points, with their weights. A word of weight kNoWord
  // is only the beginning of longer words.
  explicit WordTrie(const std::vector<std::pair<std::u32string, double>>& words);

  // Returns the node of the text of `node` followed by `c`, or kNoNode if no word begins so.
  int32_t child(int32_t node, char32_t c) const;
  // Returns the weight of the word that ends at this node, or kNoWord.
  double weight(int32_t node) const { return weights_[size_t(node)]; }

 private:
  // Indexed by node, breadth first. The children of a node are consecutive and sorted by their last character.
  std::vector<char32_t> characters_;
  std::vector<int32_t> first_child_;  // one more than nodes
  std::vector<double> weights_;
};

}  // namespace gyre
