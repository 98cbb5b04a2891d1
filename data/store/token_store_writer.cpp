#include <cstring>

#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/store/token_store_format.h"

namespace gyre {

using namespace token_store_format;

TokenStoreWriter TokenStoreWriter::to_file(const Vocabulary& vocabulary, int sides, const Path& path) {
  require_file_output(path, "token store");
  return TokenStoreWriter(vocabulary, sides, path.string(), path);
}

TokenStoreWriter TokenStoreWriter::in_memory(const Vocabulary& vocabulary, int sides, std::string name) {
  return TokenStoreWriter(vocabulary, sides, std::move(name), std::nullopt);
}

TokenStoreWriter::TokenStoreWriter(const Vocabulary& vocabulary, int sides, std::string name, std::optional<Path> path)
    : name_(std::move(name)), file_(path ? std::make_unique<AtomicFile>(*path) : nullptr) {
  require(sides == 1 || sides == 2, "[token store] expected 1 or 2 sides, got ", sides);
  trailer_.fingerprint = vocabulary.fingerprint();
  trailer_.sides = uint32_t(sides);
  trailer_.vocabulary_size = uint32_t(vocabulary.size());
  trailer_.id_bytes = vocabulary.size() <= 65536 ? 2 : 4;
  trailer_.bos = vocabulary.bos();
  trailer_.eos = vocabulary.eos();
  Header header{.magic = {}, .version = kStoreVersion, .zero = 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  write(&header, sizeof header);
}

void TokenStoreWriter::write(const void* data, size_t bytes) {
  written_ += bytes;
  if (file_) return file_->write(data, bytes);
  const auto* begin = static_cast<const std::byte*>(data);
  memory_.insert(memory_.end(), begin, begin + bytes);
}

void TokenStoreWriter::write_ids(const void* data, size_t bytes) {
  trailer_.ids_crc = crc32c(data, bytes, trailer_.ids_crc);
  write(data, bytes);
}

void TokenStoreWriter::add(const std::vector<int32_t>& source, const std::vector<int32_t>& target) {
  require(trailer_.sides == 2 || target.empty(), "[token store] ", name_, ": expected ids of one side, got ids of two");
  add_side(source, 0);
  if (trailer_.sides == 2) add_side(target, 1);
  ++trailer_.sentences;
}

void TokenStoreWriter::add_of_document(std::span<const int32_t> ids, const TextSize& size) {
  require(trailer_.sides == 1, "[token store] ", name_, ": expected documents of one side, got pairs");
  add_side(ids, 0);
  ++trailer_.sentences;
  sizes_.push_back(uint32_t(size.bytes));
  sizes_.push_back(uint32_t(size.characters));
}

void TokenStoreWriter::add_side(std::span<const int32_t> ids, int side) {
  for (const int32_t id : ids) {
    require(id >= 0 && uint32_t(id) < trailer_.vocabulary_size, "[token store] ", name_, ": expected ids below ",
            trailer_.vocabulary_size, ", got ", id);
  }
  if (trailer_.id_bytes == 2) {
    narrow_.assign(ids.begin(), ids.end());
    write_ids(narrow_.data(), narrow_.size() * sizeof(uint16_t));
  } else {
    write_ids(ids.data(), ids.size() * sizeof(int32_t));
  }
  lengths_.push_back(uint32_t(ids.size()));
  trailer_.tokens[side] += ids.size();
}

// The sizes are either of all sentences or left out.
void TokenStoreWriter::write_text() {
  text_.has_sizes = sizes_.size() == 2 * trailer_.sentences && trailer_.sentences > 0 ? 1 : 0;
  if (text_.has_sizes != 0) {
    text_.sizes_crc = crc32c(sizes_.data(), sizes_.size() * sizeof(uint32_t));
    write(sizes_.data(), sizes_.size() * sizeof(uint32_t));
  }
  text_.text_crc = crc_of(text_);
  write(&text_, sizeof text_);
}

TokenStore TokenStoreWriter::finish() {
  trailer_.ids_bytes = (trailer_.tokens[0] + trailer_.tokens[1]) * trailer_.id_bytes;
  constexpr char kZeros[8] = {};
  write_ids(kZeros, align(trailer_.ids_bytes) - trailer_.ids_bytes);
  uint64_t offset = 0;
  const auto write_offset = [&] {
    trailer_.offsets_crc = crc32c(&offset, sizeof offset, trailer_.offsets_crc);
    write(&offset, sizeof offset);
  };
  write_offset();
  for (const uint32_t length : lengths_) {
    offset += length;
    write_offset();
  }
  write_text();
  trailer_.file_bytes = written_ + sizeof trailer_;
  trailer_.trailer_crc = crc_of(trailer_);
  std::memcpy(trailer_.mark, kEndMark, sizeof kEndMark);
  write(&trailer_, sizeof trailer_);
  if (!file_) return TokenStore(name_, std::move(memory_));
  file_->commit();
  return TokenStore(Path(name_));
}

}  // namespace gyre
