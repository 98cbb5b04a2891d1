// Token stores: files with the sentences of one text, or of a pair of texts, as ids. They are memory-mapped, so a
// corpus may be larger than memory, and the time to open one does not depend on its size. Format (little-endian):
//   "GYRETOKS", u32 version, u32 zero
//   ids      of sentence 0 side 0, sentence 0 side 1, sentence 1 side 0, ...: u16, or u32 above 65,536 pieces;
//            zero padding to a multiple of 8 bytes
//   offsets  u64[sides * sentences + 1]: index of the first id of each of these, and the end
//   sizes    u32[2 * sentences]: bytes and characters of the text of each sentence, if the header says so
//   places   only in version 3: where the ids are in other files (TokenPlaces)
//   text     since version 2: how the text was read, and the CRC-32C of sizes and of this
//   trailer  counts, fingerprint of the vocabulary, CRC-32C of ids, offsets and the trailer itself, "GYRE-END"
// Version 1 has neither sizes nor text. A store of version 3 has no ids: they stay in the files of another program,
// which are mapped too. Opening a store checks its sizes and the trailer. Every access is bounds-checked. verify()
// checks every byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/data/text/document_text.h"
#include "gyre/data/tokenizer/vocabulary.h"

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

struct TokenStoreText {
  uint32_t line_ends;  // 0: not documents; else 1 + LineEnds
  uint32_t has_sizes;
  uint32_t sizes_crc, text_crc;
};

// Where the tokens of a store of one side are in other files. A run of tokens is contiguous in one file.
class TokenPlaces {
 public:
  struct Run {
    uint64_t first_token = 0, file = 0, offset = 0;  // offset: in bytes
  };

  // The files have ids of `id_bytes` bytes in the order of this machine.
  TokenPlaces(std::vector<Path> files, uint32_t id_bytes) : files_(std::move(files)), id_bytes_(id_bytes) {}
  // Reads what bytes() has written. Names of files are relative to the folder. Throws an Error if a file is missing or
  // has another size, or if the bytes are damaged.
  TokenPlaces(std::span<const std::byte> bytes, const Path& folder, uint32_t id_bytes);

  // Adds a run, or extends the last one if it is contiguous with it.
  void add(const Run& run);
  // Calls f(ids, count) for the pieces of a range of tokens in order. `ids` points to ids of id_bytes.
  void for_each_piece(uint64_t begin, uint64_t end, const std::function<void(const std::byte*, uint64_t)>& f) const;
  // The places in a store in this folder.
  std::vector<std::byte> bytes(const Path& folder) const;
  uint32_t id_bytes() const { return id_bytes_; }
  const std::vector<Path>& files() const { return files_; }
  void require_untruncated() const;

 private:
  std::vector<Path> files_;
  std::vector<MappedFile> maps_;  // empty in a writer
  uint32_t id_bytes_;
  std::vector<Run> runs_;
};

// The size of a text.
struct TextSize {
  uint64_t characters = 0, bytes = 0;

  static TextSize of(std::string_view text);
  TextSize& operator+=(const TextSize& other);
  TextSize& operator-=(const TextSize& other);  // clamps at 0
};

class TokenStore {
 public:
  // Maps a file. Throws an Error unless its size and trailer are those of a complete store.
  explicit TokenStore(const Path& path);
  // Opens the bytes of a store in memory. Messages show `name` instead of a path.
  TokenStore(std::string name, std::vector<std::byte> bytes);
  // Several stores as one, in this order. Throws an Error unless they have the same vocabulary, sides and line ends
  // and, with one side, end with a document. A chain has no file.
  static TokenStore chain(std::string name, std::vector<TokenStore> parts);
  TokenStore(TokenStore&&) = default;
  TokenStore& operator=(TokenStore&&) = default;

  static bool recognizes(const Path& path);  // a regular file that begins as a store; false if it cannot be read

  size_t size() const { return trailer_.sentences; }
  int sides() const { return int(trailer_.sides); }
  // Number of ids in a sentence, without <s> and </s>.
  size_t length(size_t sentence, int side) const {
    const Range range = range_of(sentence, side);
    return range.end - range.begin;
  }
  void append(size_t sentence, int side, std::vector<int32_t>& ids) const;
  std::vector<int32_t> sentence(size_t sentence, int side) const;
  uint64_t total_tokens(int side) const { return trailer_.tokens[side]; }

  // The tokens of a store with one side form one sequence. first_token is the position of a sentence's first token in
  // it (the total number of tokens for sentence size()). append_tokens appends the ids [begin, end) of the sequence.
  uint64_t first_token(size_t sentence) const;
  void append_tokens(uint64_t begin, uint64_t end, std::vector<int32_t>& ids) const;

  // How the lines of documents were joined. nullopt: the store has no documents, or is of an earlier version, which put
  // nothing between lines.
  std::optional<LineEnds> line_ends() const;
  // Whether it has documents, whose boundaries it knows; gyre data build without --documents writes sentences.
  bool has_documents() const;
  bool is_of_earlier_version() const { return version_ < 2; }
  // The files with its ids, if those are not in the store.
  std::vector<Path> id_files() const { return places_ ? places_->files() : std::vector<Path>(); }
  bool has_text_sizes() const { return text_.has_sizes != 0; }
  TextSize text_size(size_t sentence) const;  // size of the text that was encoded, if has_text_sizes()

  int vocabulary_size() const { return int(trailer_.vocabulary_size); }
  int bos() const { return trailer_.bos; }
  int eos() const { return trailer_.eos; }
  uint64_t fingerprint() const { return trailer_.fingerprint; }
  // Checksum of the content: equal for two stores with the same sentences in the same order.
  uint64_t checksum() const;
  const std::string& name() const { return name_; }

  // Throws an Error if the store was built with another vocabulary.
  void require_vocabulary(const Vocabulary& vocabulary) const;
  void verify() const;  // checks every byte; throws an Error that names the damaged part
  // Throws an Error if the file was truncated after it was opened.
  void require_untruncated() const;

 private:
  struct Range {
    uint64_t begin, end;
  };

  TokenStore() = default;
  void open();
  size_t part_of(const std::vector<uint64_t>& firsts, uint64_t number) const;
  Range range_of(size_t sentence, int side) const;
  void append(Range range, std::vector<int32_t>& ids) const;
  [[noreturn]] void fail(const std::string& what) const;
  template <class Id>
  void append_ids(Range range, std::vector<int32_t>& ids) const;
  template <class F>
  void for_each_piece(Range range, const F& f) const;

  std::string name_;
  MappedFile map_;
  std::vector<std::byte> memory_;
  const std::byte* bytes_ = nullptr;
  size_t byte_count_ = 0;
  uint32_t version_ = 0;
  const uint64_t* offsets_ = nullptr;
  const uint32_t* sizes_ = nullptr;
  TokenStoreText text_{};
  TokenStoreTrailer trailer_{};  // sums, if the store is a chain

  std::shared_ptr<const TokenPlaces> places_;  // null: the ids are in the store

  // A chain: its stores, and the first sentence and the first token of each.
  std::vector<TokenStore> parts_;
  std::vector<uint64_t> first_sentences_, first_tokens_;
};

class TokenStoreWriter {
 public:
  // sides: 1 or 2.
  static TokenStoreWriter to_file(const Vocabulary& vocabulary, int sides, const Path& path);
  // A store of one side whose ids stay where they are: the caller adds the place of each.
  static TokenStoreWriter with_places(const Vocabulary& vocabulary, TokenPlaces places, const Path& path);
  // Messages show `name` instead of a path.
  static TokenStoreWriter in_memory(const Vocabulary& vocabulary, int sides, std::string name);

  // Appends a sentence: the ids of each side, without <s> and </s>. Throws an Error for an id outside the vocabulary.
  void add(const std::vector<int32_t>& source, const std::vector<int32_t>& target = {});
  // Appends a sentence of a document with the size of its text; an empty sentence ends a document.
  void add_of_document(std::span<const int32_t> ids, const TextSize& size);
  // The run of tokens that begins `ahead` tokens after those that have been added, if the store has places.
  void add_place(uint64_t ahead, uint64_t file, uint64_t offset);
  bool has_places() const { return places_.has_value(); }
  // The line ends that a store of documents keeps.
  void set_line_ends(LineEnds line_ends) { text_.line_ends = 1 + uint32_t(line_ends); }
  // Completes the store and opens it. A file appears under its name only now.
  TokenStore finish();

 private:
  TokenStoreWriter(const Vocabulary& vocabulary, int sides, std::string name, std::optional<Path> path,
                   uint32_t version);
  void write_ids(const void* data, size_t bytes);
  void write(const void* data, size_t bytes);
  void add_side(std::span<const int32_t> ids, int side);
  void write_text();

  std::string name_;
  std::unique_ptr<AtomicFile> file_;  // null: in memory
  std::vector<std::byte> memory_;
  std::vector<uint32_t> lengths_;  // length of each side of each sentence
  std::vector<uint32_t> sizes_;    // bytes and characters of each sentence
  std::vector<uint16_t> narrow_;
  std::optional<TokenPlaces> places_;
  uint64_t written_ = 0;
  TokenStoreText text_{};
  TokenStoreTrailer trailer_{};
};

}  // namespace gyre
