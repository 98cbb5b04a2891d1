// Vocabularies based on a dictionary file with one piece per line, with or without its count ("token count", the format
// of subword-nmt's get-vocab and of fairseq). The pieces have the ids 3, 4, ... in the order of the file, after <unk>,
// <s> and </s>.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

class Dictionary {
 public:
  // Skips entries whose count is below the threshold; 0 keeps all. `name` is the name of the file for messages. Throws
  // an Error for a malformed line, for a duplicate piece, and if no piece remains.
  Dictionary(const std::string& name, std::string_view text, uint64_t threshold);

  int size() const { return int(pieces_.size()); }
  int find(std::string_view piece) const;  // returns unk for a piece that is not in the dictionary; never <s> or </s>
  const std::string& piece(int id) const { return pieces_[size_t(id)]; }
  std::span<const std::string> words() const;  // all pieces except the special ones

 private:
  void add(const std::string& name, size_t line_number, std::string_view line, uint64_t threshold);

  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int, StringHash, std::equal_to<>> ids_;
};

// Splits text at spaces and looks each word up in the dictionary.
class WordVocabulary final : public Vocabulary {
 public:
  WordVocabulary(const std::string& name, const VocabularyBundle& bundle);
  std::string_view kind() const override { return "words"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return dictionary_.size(); }

 private:
  Dictionary dictionary_;
};

// Byte-pair encoding of subword-nmt. Expects text that was preprocessed like the text that the codes were learned from,
// usually tokenized.
class SubwordNmtVocabulary final : public Vocabulary {
 public:
  SubwordNmtVocabulary(const std::string& name, const VocabularyBundle& bundle);
  std::string_view kind() const override { return "subword-nmt"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return dictionary_.size(); }
  std::unique_ptr<BpeDropout> bpe_dropout() const override;

  const Dictionary& dictionary() const { return dictionary_; }
  const SubwordNmt& segmenter() const { return segmenter_; }

 private:
  Dictionary dictionary_;
  SubwordNmt segmenter_;
  // Indexed by id: whether segmenting this word gives the word itself. A shortcut, because that holds for most words.
  std::vector<bool> is_whole_word_;
};

// Throws a UsageError unless the text can mark the pieces that do not end a word.
void require_separator(const std::string& separator);

// Implement `gyre vocab --type subword-nmt` and `--type words`: check the files and join them into one vocabulary file.
void write_subword_nmt_vocabulary(const Path& codes, const Path& dictionary, uint64_t threshold,
                                  const std::string& separator, const Path& output);
// Joins the contents of a codes file and a dictionary. subword_nmt/subword_nmt_training.h learns them.
void save_subword_nmt_vocabulary(std::string codes, std::string dictionary, uint64_t threshold,
                                 const std::string& separator, const Path& output);
void write_word_vocabulary(const Path& dictionary, uint64_t threshold, const Path& output);

}  // namespace gyre
