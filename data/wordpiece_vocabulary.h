// BERT's WordPiece (Devlin et al. 2019, tokenization.py of google-research/bert): clean up, split at white space,
// punctuation and around CJK characters, then greedily the longest piece of the vocabulary, "##" before continuations.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/subword_nmt.h"
#include "data/vocabulary.h"
#include "data/vocabulary_bundle.h"

namespace gyre {

class WordPieceVocabulary final : public Vocabulary {
 public:
  // vocab.txt, one piece a line, the id is the line's number from 0; taken as uncased: lower case, accents removed.
  // <unk>, <s>, </s> are [UNK], [CLS], [SEP]. `name` is the file's, for messages.
  WordPieceVocabulary(const std::string& name, std::string content);
  // The same with the choice between cased and uncased, as written by write_wordpiece_vocabulary.
  WordPieceVocabulary(const std::string& name, const VocabularyBundle& bundle);

  std::string_view kind() const override { return "wordpiece"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return int(pieces_.size()); }

  static bool recognises(std::string_view content);

 private:
  void read_pieces(const std::string& name, std::string_view text);
  int find_special(const std::string& name, std::string_view piece) const;
  void encode_word(const std::string& word, std::vector<int32_t>& ids) const;

  bool is_lower_ = true;
  std::vector<std::string> pieces_;
  size_t longest_piece_ = 0;  // bytes
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> ids_;
};

void write_wordpiece_vocabulary(const Path& vocabulary, bool lower_case, const Path& output);

// BERT's basic tokenizer: the words that are cut into pieces.
std::vector<std::string> bert_words(std::string_view text, bool lower_case);

}  // namespace gyre
