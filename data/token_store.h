// Token stores: the sentences of one text or of a pair of texts as ids, memory-mapped, so that a corpus larger than
// memory trains and opening costs the same whatever the size. Little-endian:
//   "GYRETOKS", u32 version, u32 zero
//   ids      of sentence 0 side 0, sentence 0 side 1, sentence 1 side 0, ...: u16, or u32 above 65,536 pieces;
//            zeros up to a multiple of 8 bytes
//   offsets  u64, sides * sentences + 1: where each of these begins, in ids
//   trailer  counts, the vocabulary's fingerprint, CRC-32C of the parts and of itself, "GYRE-END"
// Opening checks sizes and the trailer; every access is checked against the bounds; verify() checks every byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mapped_file.h"
#include "data/vocabulary.h"

namespace gyre {

struct TokenStoreTrailer {
  uint64_t file_bytes, ids_bytes, sentences;
  uint64_t tokens[2];
  uint64_t fingerprint;
  uint32_t sides, id_bytes, vocabulary_size;
  int32_t bos, eos;
  uint32_t ids_crc, offsets_crc, trailer_crc;
  char mark[8];
};

class TokenStore {
 public:
  explicit TokenStore(const Path& path);
  // The same bytes in memory; `name` stands for the path in messages.
  TokenStore(std::string name, std::vector<std::byte> bytes);
  TokenStore(TokenStore&&) = default;
  TokenStore& operator=(TokenStore&&) = default;

  static bool recognises(const Path& path);  // false too for what cannot be read

  size_t size() const { return trailer_.sentences; }
  int sides() const { return int(trailer_.sides); }
  // Ids of a sentence, without <s> and </s>.
  size_t length(size_t sentence, int side) const {
    const Range range = range_of(sentence, side);
    return range.end - range.begin;
  }
  void append(size_t sentence, int side, std::vector<int32_t>& ids) const;
  std::vector<int32_t> sentence(size_t sentence, int side) const;
  uint64_t total_tokens(int side) const { return trailer_.tokens[side]; }

  // A store of one side is also one row of tokens: where a sentence begins in it (its total for the one past the last),
  // and the ids [begin, end) of it.
  uint64_t first_token(size_t sentence) const;
  void append_tokens(uint64_t begin, uint64_t end, std::vector<int32_t>& ids) const;

  int vocabulary_size() const { return int(trailer_.vocabulary_size); }
  int bos() const { return trailer_.bos; }
  int eos() const { return trailer_.eos; }
  uint64_t fingerprint() const { return trailer_.fingerprint; }
  // Of what it holds: two stores with the same sentences in the same order agree.
  uint64_t checksum() const { return uint64_t{trailer_.ids_crc} << 32 | trailer_.offsets_crc; }
  const std::string& name() const { return name_; }

  // One clear line when the store was made with another vocabulary.
  void require_vocabulary(const Vocabulary& vocabulary) const;
  void verify() const;
  // Throws when the file has been cut short since it was opened.
  void require_whole() const { map_.require_whole(); }

 private:
  struct Range {
    uint64_t begin, end;
  };

  void open();
  Range range_of(size_t sentence, int side) const;
  void append(Range range, std::vector<int32_t>& ids) const;
  [[noreturn]] void fail(const std::string& what) const;
  template <class Id>
  void append_ids(Range range, std::vector<int32_t>& ids) const;

  std::string name_;
  MappedFile map_;
  std::vector<std::byte> memory_;
  const std::byte* bytes_ = nullptr;
  size_t byte_count_ = 0;
  const uint64_t* offsets_ = nullptr;
  TokenStoreTrailer trailer_{};
};

class TokenStoreWriter {
 public:
  // sides: 1 or 2.
  static TokenStoreWriter to_file(const Vocabulary& vocabulary, int sides, const Path& path);
  // `name` stands for the path in messages.
  static TokenStoreWriter in_memory(const Vocabulary& vocabulary, int sides, std::string name);

  // The next sentence: the ids of each side, without <s> and </s>.
  void add(const std::vector<int32_t>& source, const std::vector<int32_t>& target = {});
  // Writes the file whole under its name (nothing stands there before) and opens it.
  TokenStore finish();

 private:
  TokenStoreWriter(const Vocabulary& vocabulary, int sides, std::string name, std::optional<Path> path);
  void write_ids(const void* data, size_t bytes);
  void write(const void* data, size_t bytes);
  void add_side(const std::vector<int32_t>& ids, int side);

  std::string name_;
  std::unique_ptr<AtomicFile> file_;  // null: in memory
  std::vector<std::byte> memory_;
  std::vector<uint32_t> lengths_;  // of every side of every sentence
  std::vector<uint16_t> narrow_;
  uint64_t written_ = 0;
  TokenStoreTrailer trailer_{};
};

}  // namespace gyre
