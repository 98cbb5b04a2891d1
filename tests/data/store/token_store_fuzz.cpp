// Fuzzes token stores: each damaged store is read or rejected with an Error, without reading out of bounds. Most runs
// recompute the trailer's checksum, so that the checks behind it are tested.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/store/token_store_format.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/fuzz.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

std::string good_store(int sides, const std::vector<std::vector<int32_t>>& sentences) {
  const TemporaryDirectory directory;
  auto writer = TokenStoreWriter::to_file(ByteVocabulary(), sides, directory / "store");
  for (const auto& ids : sentences) writer.add(ids, sides == 2 ? ids : std::vector<int32_t>{});
  writer.finish();
  return read_file(directory / "store");
}

// Changes one of the trailer's numbers, but not the checksums and the mark.
void damage_trailer(Fuzz& fuzz, std::string& bytes) {
  if (bytes.size() < sizeof(TokenStoreTrailer)) return;
  static const std::vector<uint64_t> strange{
      0, 1, 2, 3, 4, 1ULL << 31, 1ULL << 32, 1ULL << 61, 1ULL << 62, 1ULL << 63, UINT64_MAX, UINT64_MAX - 7};
  char* trailer = bytes.data() + bytes.size() - sizeof(TokenStoreTrailer);
  const size_t word = fuzz.below(offsetof(TokenStoreTrailer, trailer_crc) / sizeof(uint64_t)) * sizeof(uint64_t);
  uint64_t value = 0;
  std::memcpy(&value, trailer + word, sizeof value);
  value = (fuzz.one_in(2) ? value : 0) + (fuzz.one_in(2) ? fuzz.pick(strange) : fuzz.below(9) - 4);
  std::memcpy(trailer + word, &value, fuzz.one_in(2) ? sizeof value : sizeof value / 2);
}

void make_checksum_good(std::string& bytes) {
  if (bytes.size() < sizeof(TokenStoreTrailer)) return;
  TokenStoreTrailer trailer;
  char* at = bytes.data() + bytes.size() - sizeof trailer;
  std::memcpy(&trailer, at, sizeof trailer);
  trailer.trailer_crc = token_store_format::crc_of(trailer);
  std::memcpy(at, &trailer, sizeof trailer);
}

void read_all(const TokenStore& store) {
  for (size_t i = 0; i < store.size(); ++i) {
    for (int side = 0; side < store.sides(); ++side) {
      try {
        const size_t ids = store.sentence(i, side).size();
        CHECK(ids == store.length(i, side));
      } catch (const Error&) {
      }
    }
  }
  store.verify();
}

}  // namespace

TEST_CASE("token store: counts whose sum and product overflow are rejected") {
  std::string bytes = good_store(1, {{4, 5}, {6}});
  const auto put = [&](size_t before_end, uint64_t value) {
    std::memcpy(bytes.data() + bytes.size() - before_end, &value, sizeof value);
  };
  constexpr uint64_t kHalf = 1ULL << 63;  // twice this value overflows to 0
  put(sizeof(TokenStoreTrailer) - offsetof(TokenStoreTrailer, tokens), kHalf + 3);
  put(sizeof(TokenStoreTrailer) + sizeof(TokenStoreText) + sizeof(uint64_t), kHalf);  // the end of the last sentence
  make_checksum_good(bytes);
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  CHECK_THROWS_WITH_AS(TokenStore("wrapped", {data, data + bytes.size()}),
                       doctest::Contains("its counts do not fit the size of the file"), Error);
}

TEST_CASE("token store: damaged stores are read or rejected") {
  const std::vector<std::string> good{good_store(2, {{4, 5, 6}, {7}, {}}), good_store(1, {{4, 5}, {6, 7, 8, 9}}),
                                      good_store(1, {})};
  size_t opened = 0, whole = 0;
  fuzz(30000, [&](Fuzz& fuzz) {
    std::string damaged = fuzz.pick(good);
    for (size_t i = fuzz.below(3); i > 0; --i) damage_trailer(fuzz, damaged);
    if (fuzz.one_in(2)) fuzz.damage(damaged);
    if (!fuzz.one_in(8)) make_checksum_good(damaged);
    const auto* data = reinterpret_cast<const std::byte*>(damaged.data());
    try {
      const TokenStore store("damaged", {data, data + damaged.size()});
      ++opened;
      read_all(store);
      ++whole;
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("[token store] damaged: ") == 0);
    }
  });
  MESSAGE(opened, " opened, ", whole, " of them read completely");
}
