// BERT's WordPiece (Devlin et al. 2019, tokenization.py of google-research/bert): cleans up the text, splits it at
// white space, at punctuation and around CJK characters, and then repeatedly takes the longest matching piece of the
// vocabulary, with "##" before continuations. If BERT and Hugging Face's BertTokenizer (transformers 5, with its
// package tokenizers) differ, the ids follow Hugging Face: private-use characters are dropped, a final sigma is
// lower-cased like any sigma, words over 100 characters (BERT: 200) are [UNK], and special pieces written in the text
// are recognized with exact case. Classes of characters end at Unicode 8, as in Hugging Face's tables.
// wordpiece_training.h trains such vocabularies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// The first pieces of a BERT vocabulary. In text they are never split, and no longer match takes precedence.
inline constexpr std::string_view kBertSpecials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
inline constexpr size_t kLongestBertWord = 100;  // characters; a longer word is unknown as a whole

class WordPieceVocabulary : public Vocabulary {
 public:
  // content: a vocab.txt with one piece per line; the id is the line's number from 0. Treats it as uncased: converts
  // text to lower case and removes accents. <unk>, <s> and </s> are [UNK], [CLS] and [SEP]. `name` is the name of the
  // file for messages. Throws an Error for a duplicate piece and if one of these three is missing.
  WordPieceVocabulary(const std::string& name, std::string content);
  // bundle: a vocab.txt with the choice between cased and uncased, as write_wordpiece_vocabulary writes it.
  WordPieceVocabulary(const std::string& name, const VocabularyBundle& bundle);

  std::string_view kind() const override { return "wordpiece"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  // Joins pieces with spaces, but "##" pieces without: equals Hugging Face's decode with
  // clean_up_tokenization_spaces=False, with [UNK] and [MASK] shown. Removed characters, case and spaces are lost.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return int(pieces_.size()); }
  std::string note() const override { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }
  bool lower_case() const { return is_lower_; }
  std::string lines() const;  // the pieces as the content of a vocab.txt

  static bool recognizes(std::string_view content);

 protected:
  // Appends the ids of text without special pieces.
  virtual void encode_plain(std::string_view text, std::vector<int32_t>& ids) const;
  int32_t find(std::string_view piece) const;  // -1 if the vocabulary has no such piece

 private:
  void read_pieces(const std::string& name, std::string_view text);
  int find_special(const std::string& name, std::string_view piece) const;
  // Returns the special piece at the beginning of the text, or -1 if there is none.
  int32_t leading_special(std::string_view text) const;
  void encode_word(const std::string& word, std::vector<int32_t>& ids) const;

  bool is_lower_ = true;
  std::string note_{};
  std::vector<std::string> pieces_;
  size_t longest_piece_ = 0;  // bytes
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> ids_;
};

// Makes a cased or uncased vocabulary from the content of a vocab.txt. The content of a cased one includes the choice,
// because a saved copy has no tokenizer_config.json. note: a remark for the user.
std::shared_ptr<const Vocabulary> make_wordpiece_vocabulary(const std::string& name, std::string content,
                                                            bool lower_case, std::string note);

// Joins a vocab.txt and the choice between cased and uncased into one file.
VocabularyBundle wordpiece_bundle(std::string vocabulary, bool lower_case);
void write_wordpiece_vocabulary(const Path& vocabulary, bool lower_case, const Path& output);

// BERT's basic tokenizer: returns the words that WordPiece then splits into pieces.
std::vector<std::string> bert_words(std::string_view text, bool lower_case);

}  // namespace gyre
