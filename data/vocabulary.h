// A vocabulary: text to ids and back. One vocabulary serves both languages of a pair.
// Kinds: SentencePiece (sentencepiece_vocabulary.h), subword-nmt BPE codes and whole words (dictionary_vocabulary.h),
// BERT's WordPiece (wordpiece_vocabulary.h), bytes (byte_vocabulary.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace gyre {

// Every vocabulary that Gyre makes has <unk> = 0, <s> = 1, </s> = 2 and no padding piece, as batches hold no padding.
// A vocabulary from elsewhere keeps its own numbers; without a <s>, bos is its </s>.
struct SpecialIds {
  int unk = 0, bos = 1, eos = 2;
  int pad = -1;  // -1: none
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  virtual std::string_view kind() const = 0;  // "unigram", "bpe", "char", "word", "subword-nmt", "wordpiece", "bytes"
  // The ids of one line of valid UTF-8 (or of any bytes, if it takes them), without <s> or </s>. Safe to call from
  // several threads.
  virtual std::vector<int32_t> encode(std::string_view line) const = 0;
  // Plain text; special ids are left out, <unk> is shown. An id outside the vocabulary is an Error.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  virtual std::string piece(int id) const = 0;
  virtual int size() const = 0;
  virtual bool takes_any_bytes() const { return false; }  // not only UTF-8

  int unk() const { return special_.unk; }
  int bos() const { return special_.bos; }
  int eos() const { return special_.eos; }
  int pad() const { return special_.pad; }

  // The bytes of the vocabulary file. A saved copy has the same bytes, and so the same fingerprint.
  const std::string& content() const { return content_; }
  uint64_t fingerprint() const { return fingerprint_; }
  void save(const Path& path) const { write_file(path, content_); }

 protected:
  explicit Vocabulary(std::string content);
  void require_id(int id) const;
  // The ids that show in text: all but <s>, </s> and padding. An Error for an id outside the vocabulary.
  std::vector<int32_t> shown(std::span<const int32_t> ids) const;

  SpecialIds special_;

 private:
  std::string content_;
  uint64_t fingerprint_;
};

// Tells the kind of file by its first bytes. An Error names the file and what is wrong with it.
std::shared_ptr<const Vocabulary> load_vocabulary(const Path& path);

}  // namespace gyre
