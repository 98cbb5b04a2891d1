// The models of a tokenizer.json, which divide a word into pieces: BPE (Sennrich et al. 2016) on bytes or on
// characters, WordPiece (Schuster & Nakajima 2012) and WordLevel, with the ids of Hugging Face's package tokenizers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/data/tokenizer/hugging_face/json_part.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// A merge of byte-pair encoding.
struct ByteBpeMerge {
  int32_t left, right, merged;  // ids of pieces
};

// Joins the adjacent pair of the earliest merge, the leftmost one first, until no pair is a merge (Sennrich et al.
// 2016).
class ByteBpeMerges {
 public:
  explicit ByteBpeMerges(const std::vector<ByteBpeMerge>& merges);  // if a pair occurs twice, its last place counts

  // Memory that apply() uses again for the next word.
  struct Workspace {
    struct Symbol {
      int32_t id;
      uint32_t previous, next;  // indices of its neighbors
    };
    struct Candidate {
      int32_t rank;
      uint32_t left;  // index of a symbol
      int32_t merged;
      bool operator<(const Candidate& other) const {  // order of a heap with the earliest merge on top
        return rank != other.rank ? rank > other.rank : left > other.left;
      }
    };
    std::vector<Symbol> symbols{};
    std::vector<Candidate> heap{};
  };
  // Replaces the ids of a word by those of its pieces, in O(n log n). Thread-safe with one `workspace` per thread.
  void apply(std::vector<int32_t>& ids, Workspace& workspace) const;

 private:
  struct Step {
    int32_t rank, merged;
  };

  const Step* find(int32_t left, int32_t right) const;
  void push(uint32_t left, Workspace& workspace) const;

  std::unordered_map<uint64_t, Step> steps_;  // steps keyed by the pair
};

class TokenModel {
 public:
  using Ids = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

  virtual ~TokenModel() = default;

  // Reads "model". has_bytes: words are bytes, and the model is BPE on them. Throws an Error that names the field for
  // what Gyre does not support.
  static std::unique_ptr<TokenModel> read(JsonPart model, bool has_bytes);

  virtual std::string_view kind() const = 0;  // "byte-bpe", "character-bpe", "wordpiece", "words"
  // Appends the ids of a word that is not empty. Thread-safe with one `workspace` per thread.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const = 0;
  // A remark for the user about texts that the model cannot write; may be empty.
  virtual std::string note() const { return ""; }

  // Whether every byte has a piece, also bytes that are not UTF-8.
  virtual bool has_all_bytes() const { return false; }

  int32_t find(std::string_view piece) const;                         // -1 if there is no such piece
  const std::vector<std::string>& pieces() const { return pieces_; }  // pieces by id; empty for an id without a piece
  size_t size() const { return ids_.size(); }                         // number of pieces
  int32_t unk() const { return unk_; }                                // -1: none, or nothing is unknown
  const std::string& prefix() const { return prefix_; }               // prefix of pieces that continue a word

 protected:
  void read_pieces(JsonPart& model);
  void read_unk(JsonPart& model, bool is_required);

  std::vector<std::string> pieces_{};
  Ids ids_{};
  int32_t unk_ = -1;
  std::string prefix_{};
};

}  // namespace gyre
