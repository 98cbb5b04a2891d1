// BPE dropout for subword-nmt vocabularies.
#include <algorithm>
#include <string>

#include "gyre/data/tokenizer/dictionary_vocabulary.h"

namespace gyre {

namespace {

class SubwordNmtDropout final : public BpeDropout {
 public:
  explicit SubwordNmtDropout(const SubwordNmtVocabulary& vocabulary)
      : vocabulary_(vocabulary), texts_(size_t(vocabulary.size())), continues_(size_t(vocabulary.size())) {
    const std::string& separator = vocabulary.segmenter().separator();
    for (int id = 0; id < vocabulary.size(); ++id) {
      std::string& text = texts_[size_t(id)];
      text = vocabulary.piece(id);
      if (id == vocabulary.unk() || !text.ends_with(separator)) continue;
      text.resize(text.size() - separator.size());
      continues_[size_t(id)] = true;
    }
  }

  // An unknown piece hides whether its word ends, so the words on both sides of it stay.
  std::vector<int32_t> segment(std::span<const int32_t> ids, MergeDrops& drops) const override {
    std::vector<int32_t> result;
    bool is_after_unknown = false;
    while (!ids.empty()) {
      const auto last = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return !continues_[size_t(id)]; });
      const auto word = ids.first(size_t(last - ids.begin()) + (last == ids.end() ? 0 : 1));
      ids = ids.subspan(word.size());
      const bool is_unknown = word.back() == vocabulary_.unk();
      if (is_unknown || is_after_unknown || !segment_word(word, drops, result)) {
        result.insert(result.end(), word.begin(), word.end());
      }
      is_after_unknown = is_unknown;
    }
    return result;
  }

 private:
  // Appends the new ids of a word. Returns false if the word must stay: the new pieces are not all in the vocabulary,
  // or the text cannot be recovered from `word` (a part of a word, or a word that ends with the separator).
  bool segment_word(std::span<const int32_t> word, MergeDrops& drops, std::vector<int32_t>& result) const {
    std::string text;
    for (const int32_t id : word) text += texts_[size_t(id)];
    if (!std::ranges::equal(vocabulary_.encode(text), word)) return false;
    const size_t before = result.size();
    for (const std::string& piece : vocabulary_.segmenter().segment_word(text, &drops)) {
      const int32_t id = vocabulary_.dictionary().find(piece);
      if (id == vocabulary_.unk()) {
        result.resize(before);
        return false;
      }
      result.push_back(id);
    }
    return true;
  }

  const SubwordNmtVocabulary& vocabulary_;
  std::vector<std::string> texts_;  // text of each piece, without the separator
  std::vector<bool> continues_;     // whether the piece does not end a word
};

}  // namespace

std::unique_ptr<BpeDropout> SubwordNmtVocabulary::bpe_dropout() const {
  return std::make_unique<SubwordNmtDropout>(*this);
}

}  // namespace gyre
