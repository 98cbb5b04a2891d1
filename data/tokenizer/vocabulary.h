// The interface of vocabularies, which encode text to ids and decode ids to text. Both languages of a pair share one,
// or each has a side of a pair of vocabularies (pair_vocabulary.h). Kinds: SentencePiece (sentencepiece_vocabulary.h),
// subword-nmt BPE codes and whole words (dictionary_vocabulary.h), BERT's WordPiece (wordpiece_vocabulary.h), also on
// Chinese words (wobert_vocabulary.h), bytes (byte_vocabulary.h), those of a tokenizer.json, such as byte-level BPE
// (json_vocabulary.h), and MarianTokenizer's (marian_vocabulary.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Ids of special pieces. Every vocabulary that Gyre creates has <unk> = 0, <s> = 1, </s> = 2 and no padding piece,
// because batches contain no padding; only byte-level BPE, which is in the format of Hugging Face, has others. A
// vocabulary from elsewhere keeps its ids; if it has no <s>, bos is its </s>.
struct SpecialIds {
  int unk = 0;           // -1: none, because no text is unknown
  int bos = 1, eos = 2;  // -1: none is known
  int pad = -1;          // -1: none
};

// Ids that a tokenizer puts before and after a text that a model reads.
struct IdsAroundText {
  std::vector<int32_t> before{}, after{};
};

class BpeDropout;

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  virtual std::string_view kind() const = 0;  // "unigram", "bpe", "subword-nmt", "wordpiece", "wobert", "bytes", ...
  // Returns the ids of a line without <s> and </s>. The line must be valid UTF-8 unless accepts_any_bytes().
  // Thread-safe.
  virtual std::vector<int32_t> encode(std::string_view line) const = 0;
  // Returns plain text. Omits <s>, </s> and padding, but shows <unk>. Throws an Error for an id outside the vocabulary.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  virtual std::string piece(int id) const = 0;
  virtual int size() const = 0;
  virtual bool accepts_any_bytes() const { return false; }  // whether encode takes any bytes, not only UTF-8

  // The vocabulary of the sources (side 0) or of the targets (side 1) of a translation model: this one, unless it is a
  // pair, which encodes and decodes by its sides only.
  virtual const Vocabulary& side(int /*side*/) const { return *this; }
  // Whether ids mean the same pieces on both sides, so that sources and targets can share a table of embeddings.
  virtual bool shares_ids() const { return true; }

  // Returns null if this kind of vocabulary has no merges, which BPE dropout (bpe_dropout.h) could leave out.
  virtual std::unique_ptr<BpeDropout> bpe_dropout() const;

  int unk() const { return special_.unk; }
  // The ids that begin and end a document. Throw an Error if the files of a vocabulary from elsewhere name none.
  int bos() const;
  int eos() const;
  bool has_ends() const { return special_.eos >= 0; }
  int pad() const { return special_.pad; }
  // Usually <s> before, and nothing after. A vocabulary from elsewhere follows its files; those of GPT-2 add nothing.
  IdsAroundText around_text() const;
  // A remark for the user about texts that the vocabulary cannot write; may be empty.
  virtual std::string note() const { return ""; }

  // The bytes of the vocabulary file. A saved copy has the same bytes. The fingerprint depends on what determines ids.
  const std::string& content() const { return content_; }
  uint64_t fingerprint() const { return fingerprint_; }
  void save(const Path& path) const { write_file(path, content_); }

 protected:
  explicit Vocabulary(std::string content);
  // identity: the part of the content that determines ids, for the fingerprint.
  Vocabulary(std::string content, std::string_view identity);
  void require_id(int id) const;
  // Returns the ids without <s>, </s> and padding. Throws an Error for an id outside the vocabulary.
  std::vector<int32_t> shown(std::span<const int32_t> ids) const;

  SpecialIds special_;
  std::optional<IdsAroundText> around_{};  // nullopt: <s> before

 private:
  std::string content_;
  uint64_t fingerprint_;
};

// Loads a vocabulary of any kind, which it recognizes by the content of the file. Throws an Error that names the file
// and the problem.
std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path);

}  // namespace gyre
