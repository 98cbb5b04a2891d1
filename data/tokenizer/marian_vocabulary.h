// The tokenizer of Marian's models in the format of Hugging Face (MarianTokenizer): a SentencePiece model splits the
// text, and a vocab.json, which both languages may share, has the ids of the pieces.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace sentencepiece {
class SentencePieceProcessor;
}
namespace gyre {

// One language. A language code that begins a line, such as >>fra<<, is a piece.
class MarianVocabulary final : public Vocabulary {
 public:
  // bundle: the model, the text of vocab.json, and the special pieces, of which the padding begins translations.
  MarianVocabulary(const std::string& name, const VocabularyBundle& bundle);
  ~MarianVocabulary() override;

  std::string_view kind() const override { return "marian"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;  // empty for an id without a piece
  int size() const override { return int(pieces_.size()); }

  const std::string& model() const { return model_; }   // the serialized SentencePiece model
  const std::string& ids() const { return ids_text_; }  // the text of vocab.json

 private:
  int find(std::string_view piece) const;

  std::string model_, ids_text_;
  std::vector<std::string> pieces_;  // pieces by id
  std::unordered_map<std::string, int, StringHash, std::equal_to<>> ids_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

// Reads source.spm, target.spm and vocab.json with the settings beside them, as a pair (pair_vocabulary.h). size: the
// number of ids of the model. Returns null unless the directory has all of them. Throws an Error that names the file
// and the problem, also for languages with ids of their own.
std::shared_ptr<const Vocabulary> read_marian_vocabulary(const Path& directory, int64_t size);

// Whether write_marian_vocabulary() writes this vocabulary: one of SentencePiece without a piece <pad>, which has to be
// the last, or a pair of kind marian with the same ids.
bool can_write_marian(const Vocabulary& vocabulary);
// Writes these files and tokenizer_config.json. pad: the id of the padding, which may be the size of the vocabulary.
// longest: maximum length in ids.
void write_marian_vocabulary(const Path& directory, const Vocabulary& vocabulary, int pad, int64_t longest);

}  // namespace gyre
