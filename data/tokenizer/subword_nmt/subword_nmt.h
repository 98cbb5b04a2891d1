// Byte-pair encoding with the same pieces as subword-nmt (Sennrich et al. 2016;
// https://github.com/rsennrich/subword-nmt). Supports codes of version 0.1 and 0.2 (and "0.2 byte", whose symbols are
// bytes), re-splitting by a vocabulary and dropout. Splits words at U+0020 only, like subword-nmt. Does not support
// glossaries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

class SubwordNmt {
 public:
  // codes: content of a codes file. `name`: name of the file for messages. Throws an Error for malformed codes.
  SubwordNmt(const std::string& name, std::string_view codes, std::string separator = "@@");

  // Sets the vocabulary: pieces as they appear in text ("lo@@"). A piece that is not in the vocabulary is split again
  // by undoing merges. An empty vocabulary disables re-splitting.
  void set_vocabulary(std::unordered_set<std::string, StringHash, std::equal_to<>> pieces) {
    vocabulary_ = std::move(pieces);
  }

  // Splits a line at spaces, ignoring white space at its ends.
  static std::vector<std::string_view> words(std::string_view line);
  // "lower" -> {"lo@@", "w@@", "er"}. drops: merges to leave out; null: none.
  std::vector<std::string> segment_word(std::string_view word, MergeDrops* drops = nullptr) const;
  const std::string& separator() const { return separator_; }

 private:
  struct Node {
    int32_t symbol;  // -1: occurs in no merge
    int32_t begin, end;
    int32_t previous, next;
  };

  void add_merge(std::string_view left, std::string_view right, int32_t rank);
  int32_t intern(std::string_view symbol);
  int32_t find(std::string_view symbol) const;
  const BpeMerge* find_merge(int32_t left, int32_t right) const;
  std::vector<std::string> unmarked_pieces(std::string_view word, MergeDrops* drops) const;
  std::vector<Node> first_nodes(std::string_view text, const std::vector<std::string_view>& characters) const;
  void merge_all(std::vector<Node>& nodes) const;
  void merge_some(std::vector<Node>& nodes, MergeDrops& drops) const;
  std::vector<std::string> split_unknown(const std::vector<std::string>& pieces) const;
  void split_piece(const std::string& piece, bool is_final, std::vector<std::string>& out) const;
  bool is_known(const std::string& piece, bool is_final) const;

  std::string separator_;
  bool joins_word_end_ = false, is_bytes_ = false;
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> symbols_;
  std::unordered_map<uint64_t, BpeMerge> merges_;  // keyed by the pair of symbols
  std::unordered_map<std::string, std::pair<std::string, std::string>, StringHash, std::equal_to<>> origins_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> vocabulary_;
};

// Joins pieces to words, like sed -r 's/(@@ )|(@@ ?$)//g'.
std::string undo_subword_nmt(std::string_view text, std::string_view separator = "@@");

}  // namespace gyre
