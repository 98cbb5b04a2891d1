// BPE dropout for SentencePiece's BPE models. The library's own sampling draws from a generator with hidden state, and
// drops a merge for the rest of the text instead of for one step.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"

namespace gyre {

namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

class SentencePieceDropout final : public BpeDropout {
 public:
  explicit SentencePieceDropout(const SentencePieceVocabulary& vocabulary) : characters_(size_t(vocabulary.size())) {
    std::unordered_map<std::string, int32_t> normal;
    std::vector<float> scores;
    for (int id = 0; id < vocabulary.size(); ++id) {
      if (!vocabulary.is_normal(id)) continue;
      normal.emplace(vocabulary.piece(id), id);
      scores.push_back(vocabulary.score(id));
    }
    std::sort(scores.begin(), scores.end(), std::greater<>());
    for (const auto& [piece, id] : normal) {
      const auto better = std::lower_bound(scores.begin(), scores.end(), vocabulary.score(id), std::greater<>());
      add_piece(piece, id, int32_t(better - scores.begin()), normal);
    }
    const auto space = normal.find(std::string(kSpace));
    if (space != normal.end()) space_ = space->second;
  }

  std::vector<int32_t> segment(std::span<const int32_t> ids, MergeDrops& drops) const override {
    std::vector<int32_t> result;
    std::vector<BpePart> word;
    const auto end_word = [&] {
      if (word.size() > 1)
        merge_with_drops(
            word, [this](int32_t a, int32_t b) { return find(a, b); }, drops);
      for (const BpePart& part : word) result.push_back(part.symbol);
      word.clear();
    };
    for (const int32_t id : ids) {
      if (characters_[size_t(id)].empty()) {
        end_word();
        result.push_back(id);
      }
      for (const int32_t character : characters_[size_t(id)]) {
        if (character == space_ && !has_inner_space_) end_word();
        word.push_back({character});
      }
    }
    end_word();
    return result;
  }

 private:
  static uint64_t key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

  const BpeMerge* find(int32_t left, int32_t right) const {
    const auto place = merges_.find(key(left, right));
    return place == merges_.end() ? nullptr : &place->second;
  }

  // Adds the merges that make this piece, one for each place where it consists of two pieces.
  void add_piece(const std::string& piece, int32_t id, int32_t rank,
                 const std::unordered_map<std::string, int32_t>& normal) {
    const auto characters = split_characters(piece);
    std::vector<int32_t>& ids = characters_[size_t(id)];
    for (const std::string_view character : characters) {
      const auto place = normal.find(std::string(character));
      if (place == normal.end()) return ids.clear();  // the piece stays whole
      ids.push_back(place->second);
    }
    size_t at = 0;
    for (size_t i = 0; i + 1 < characters.size(); ++i) {
      at += characters[i].size();
      const auto left = normal.find(piece.substr(0, at)), right = normal.find(piece.substr(at));
      if (left != normal.end() && right != normal.end()) merges_[key(left->second, right->second)] = {rank, id};
      has_inner_space_ |= characters[i + 1] == kSpace;
    }
  }

  std::vector<std::vector<int32_t>> characters_;  // ids of the characters of each piece; empty for a piece that stays
  std::unordered_map<uint64_t, BpeMerge> merges_;
  int32_t space_ = -1;
  bool has_inner_space_ = false;  // whether a piece may continue after a space, so that words are not independent
};

}  // namespace

std::unique_ptr<BpeDropout> SentencePieceVocabulary::bpe_dropout() const {
  if (kind_ != "bpe") return nullptr;
  return std::make_unique<SentencePieceDropout>(*this);
}

}  // namespace gyre
