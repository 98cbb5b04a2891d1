#include "gyre/data/store/token_store.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "gyre/core/error.h"
#include "gyre/core/hexadecimal.h"
#include "gyre/data/store/token_store_format.h"

namespace gyre {

using namespace token_store_format;

TokenStore::TokenStore(const Path& path) : name_(path.string()), map_(path) {
  bytes_ = map_.data();
  byte_count_ = map_.size();
  open();
}

TokenStore::TokenStore(std::string name, std::vector<std::byte> bytes)
    : name_(std::move(name)), memory_(std::move(bytes)), bytes_(memory_.data()), byte_count_(memory_.size()) {
  open();
}

bool TokenStore::recognizes(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[sizeof Header::magic];
  return file.read(magic, sizeof magic) && std::memcmp(magic, kMagic, sizeof magic) == 0;
}

void TokenStore::fail(const std::string& what) const { throw Error("[token store] ", name_, ": ", what); }

void TokenStore::open() {
  Header header{};
  if (byte_count_ > 0) std::memcpy(&header, bytes_, std::min(byte_count_, sizeof header));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) fail("expected a token store written by gyre data build");
  if (header.version != kVersion) fail(concat("expected format version ", kVersion, ", got ", header.version));
  if (header.zero != 0) fail("damaged header");
  if (byte_count_ < sizeof header + sizeof trailer_) fail(concat("truncated: only ", byte_count_, " bytes"));
  std::memcpy(&trailer_, bytes_ + byte_count_ - sizeof trailer_, sizeof trailer_);
  if (std::memcmp(trailer_.mark, kMark, sizeof kMark) != 0) {
    fail(concat("truncated or overwritten: the end mark is missing after ", byte_count_, " bytes"));
  }
  if (trailer_.trailer_crc != crc_of(trailer_)) fail("damaged trailer: its checksum does not match");
  if (trailer_.file_bytes != byte_count_) {
    fail(concat("expected ", trailer_.file_bytes, " bytes, got ", byte_count_));
  }
  const auto& t = trailer_;
  const uint64_t offsets_at = sizeof header + align(t.ids_bytes);
  const uint64_t offsets_bytes = (t.sides * t.sentences + 1) * sizeof(uint64_t);
  // Check the bounds of each count first, so that no sum or product below overflows.
  const bool is_bounded = t.ids_bytes < byte_count_ && t.sentences < byte_count_ && t.tokens[0] < byte_count_ &&
                          t.tokens[1] < byte_count_ && t.vocabulary_size <= INT32_MAX;
  const bool is_consistent = is_bounded && (t.sides == 1 || t.sides == 2) && (t.id_bytes == 2 || t.id_bytes == 4) &&
                             uint32_t(t.bos) < t.vocabulary_size && uint32_t(t.eos) < t.vocabulary_size &&
                             t.ids_bytes == (t.tokens[0] + t.tokens[1]) * t.id_bytes &&
                             offsets_at + offsets_bytes + sizeof trailer_ == byte_count_;
  if (!is_consistent) fail("damaged trailer: its counts do not fit the size of the file");
  offsets_ = reinterpret_cast<const uint64_t*>(bytes_ + offsets_at);
}

TokenStore::Range TokenStore::range_of(size_t sentence, int side) const {
  if (sentence >= size() || side < 0 || side >= sides()) {
    fail(
        concat("expected a sentence below ", size(), " and a side below ", sides(), ", got ", sentence, " and ", side));
  }
  const size_t at = sentence * trailer_.sides + size_t(side);
  const Range range{offsets_[at], offsets_[at + 1]};
  if (range.begin > range.end || range.end > trailer_.tokens[0] + trailer_.tokens[1]) {
    fail(concat("damaged offsets at sentence ", sentence));
  }
  return range;
}

template <class Id>
void TokenStore::append_ids(Range range, std::vector<int32_t>& ids) const {
  const Id* begin = reinterpret_cast<const Id*>(bytes_ + sizeof(Header));
  uint32_t largest = 0;
  for (const Id* id = begin + range.begin; id != begin + range.end; ++id) {
    largest = std::max(largest, uint32_t(*id));
    ids.push_back(int32_t(*id));
  }
  if (range.begin != range.end && largest >= trailer_.vocabulary_size) {
    fail(concat("damaged ids: got ", largest, " in a vocabulary of ", trailer_.vocabulary_size));
  }
}

void TokenStore::append(Range range, std::vector<int32_t>& ids) const {
  trailer_.id_bytes == 2 ? append_ids<uint16_t>(range, ids) : append_ids<uint32_t>(range, ids);
}

void TokenStore::append(size_t sentence, int side, std::vector<int32_t>& ids) const {
  append(range_of(sentence, side), ids);
}

uint64_t TokenStore::first_token(size_t sentence) const {
  if (sides() != 1) fail("expected a store of one side, got one of pairs");
  return sentence == size() ? total_tokens(0) : range_of(sentence, 0).begin;
}

void TokenStore::append_tokens(uint64_t begin, uint64_t end, std::vector<int32_t>& ids) const {
  if (sides() != 1 || begin > end || end > total_tokens(0)) {
    fail(concat("expected tokens of one side below ", total_tokens(0), ", got [", begin, ", ", end, ")"));
  }
  append(Range{begin, end}, ids);
}

std::vector<int32_t> TokenStore::sentence(size_t sentence, int side) const {
  std::vector<int32_t> ids;
  append(sentence, side, ids);
  return ids;
}

void TokenStore::require_vocabulary(const Vocabulary& vocabulary) const {
  if (fingerprint() == vocabulary.fingerprint()) return;
  fail(concat("was built with another vocabulary (", vocabulary_size(), " pieces, fingerprint ",
              hexadecimal(fingerprint()), ") than the one given (", vocabulary.size(), " pieces, fingerprint ",
              hexadecimal(vocabulary.fingerprint()), "): build it again with gyre data build"));
}

void TokenStore::verify() const {
  const std::byte* ids = bytes_ + sizeof(Header);
  const size_t ids_bytes = align(trailer_.ids_bytes), records = trailer_.sides * trailer_.sentences;
  if (crc32c(ids, ids_bytes) != trailer_.ids_crc) fail("damaged ids: their checksum does not match");
  if (crc32c(offsets_, (records + 1) * sizeof(uint64_t)) != trailer_.offsets_crc) {
    fail("damaged offsets: their checksum does not match");
  }
  std::vector<uint64_t> tokens(2);  // number of tokens on each side
  std::vector<int32_t> scratch;
  for (size_t i = 0; i < size(); ++i) {
    for (int side = 0; side < sides(); ++side) {
      scratch.clear();
      append(i, side, scratch);
      tokens[size_t(side)] += scratch.size();
    }
  }
  if (offsets_[0] != 0 || tokens[0] != trailer_.tokens[0] || tokens[1] != trailer_.tokens[1]) {
    fail("the offsets do not add up to the number of tokens");
  }
}

}  // namespace gyre
