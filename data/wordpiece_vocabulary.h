// BERT's WordPiece (Devlin et al. 2019, tokenization.py of google-research/bert): clean up, split at white space,
// punctuation and around CJK characters, then greedily the longest piece of the vocabulary, "##" before continuations.
// Where they differ, the ids are those of Hugging Face's BertTokenizer (transformers 5, on its package tokenizers):
// private-use characters are dropped, a final sigma is lower-cased as any sigma, words over 100 characters (the
// original: 200) are [UNK], and special pieces are recognised where they are written in the text, case and all. Two
// differences stay: character classes are those of ICU's Unicode version, where Hugging Face's tables know nothing
// after Unicode 8, and U+2B820 to U+2B91F are Chinese, as in the original. Trained by wordpiece_training.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/subword_nmt.h"
#include "data/vocabulary.h"
#include "data/vocabulary_bundle.h"

namespace gyre {

// The pieces that begin a vocabulary of BERT. None is cut, in text or by a longer match.
inline constexpr std::string_view kBertSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
inline constexpr size_t kLongestBertWord = 100;  // characters; a longer word is unknown as a whole

class WordPieceVocabulary final : public Vocabulary {
 public:
  // vocab.txt, one piece a line, the id is the line's number from 0; taken as uncased: lower case, accents removed.
  // <unk>, <s>, </s> are [UNK], [CLS], [SEP]. `name` is the file's, for messages.
  WordPieceVocabulary(const std::string& name, std::string content);
  // The same with the choice between cased and uncased, as written by write_wordpiece_vocabulary.
  WordPieceVocabulary(const std::string& name, const VocabularyBundle& bundle);

  std::string_view kind() const override { return "wordpiece"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  // Pieces with spaces between, "##" pieces without: Hugging Face's decode with clean_up_tokenization_spaces=False and
  // [UNK] and [MASK] shown. What cleaning, case and the spaces of the text were does not come back.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return int(pieces_.size()); }
  bool lower_case() const { return is_lower_; }

  static bool recognises(std::string_view content);

 private:
  void read_pieces(const std::string& name, std::string_view text);
  int find_special(const std::string& name, std::string_view piece) const;
  // The special piece that the text begins with; -1: none.
  int32_t leading_special(std::string_view text) const;
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;
  void encode_word(const std::string& word, std::vector<int32_t>& ids) const;

  bool is_lower_ = true;
  std::vector<std::string> pieces_;
  size_t longest_piece_ = 0;  // bytes
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> ids_;
};

// do_lower_case of the tokenizer_config.json beside a vocab.txt, Hugging Face's place for it; nothing without the file.
// An Error for settings that bert_words does not know.
std::optional<bool> lower_case_beside(const Path& vocabulary);

// A vocab.txt read either way: a cased one keeps its flag in its content, as a copy of it has no second file beside it.
std::shared_ptr<const Vocabulary> make_wordpiece_vocabulary(const std::string& name, std::string content,
                                                            bool lower_case);

// One file of a vocab.txt and the choice between cased and uncased.
VocabularyBundle wordpiece_bundle(std::string vocabulary, bool lower_case);
void write_wordpiece_vocabulary(const Path& vocabulary, bool lower_case, const Path& output);

// BERT's basic tokenizer: the words that are cut into pieces.
std::vector<std::string> bert_words(std::string_view text, bool lower_case);

}  // namespace gyre
