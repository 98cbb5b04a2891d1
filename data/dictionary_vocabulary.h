// Vocabularies over a dictionary file: a piece a line, with or without its count ("token count", as subword-nmt's
// get-vocab and fairseq write it). The pieces get the ids 3, 4, ... in the order of the file, after <unk>, <s>, </s>.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/file.h"
#include "data/subword_nmt.h"
#include "data/vocabulary.h"
#include "data/vocabulary_bundle.h"

namespace gyre {

class Dictionary {
 public:
  // Entries whose count is below the threshold are left out; 0 keeps all. `name` is the file's, for messages.
  Dictionary(const std::string& name, std::string_view text, uint64_t threshold);

  int size() const { return int(pieces_.size()); }
  int find(std::string_view piece) const;  // unk for a piece that is not in it; never <s> or </s>
  const std::string& piece(int id) const { return pieces_[size_t(id)]; }
  std::span<const std::string> words() const;  // without the special ones

 private:
  void add(const std::string& name, size_t line_number, std::string_view line, uint64_t threshold);

  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int, StringHash, std::equal_to<>> ids_;
};

// Words between spaces, as they stand in the dictionary.
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

// subword-nmt's pieces. Text is expected as the codes were learned: usually tokenised.
class SubwordNmtVocabulary final : public Vocabulary {
 public:
  SubwordNmtVocabulary(const std::string& name, const VocabularyBundle& bundle);
  std::string_view kind() const override { return "subword-nmt"; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return dictionary_.size(); }
  const SubwordNmt& segmenter() const { return segmenter_; }

 private:
  Dictionary dictionary_;
  SubwordNmt segmenter_;
  std::vector<bool> is_whole_word_;  // by id: a word that is written so stays in one piece; most running words do
};

// `gyre vocab --type subword-nmt` and `--type words`: check the files and join them into one vocabulary file.
void write_subword_nmt_vocabulary(const Path& codes, const Path& dictionary, uint64_t threshold,
                                  const std::string& separator, const Path& output);
void write_word_vocabulary(const Path& dictionary, uint64_t threshold, const Path& output);

}  // namespace gyre
