// Constants of the token store format, shared by its reader and its writer. token_store.h describes the format.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "gyre/core/io/file.h"
#include "gyre/data/store/token_store.h"

namespace gyre::token_store_format {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(TokenStoreTrailer) == 88);
static_assert(sizeof(TokenStoreText) == 16);

struct Header {
  char magic[8];
  uint32_t version, zero;
};

inline constexpr char kMagic[8] = {'G', 'Y', 'R', 'E', 'T', 'O', 'K', 'S'};
inline constexpr char kEndMark[8] = {'G', 'Y', 'R', 'E', '-', 'E', 'N', 'D'};
inline constexpr uint32_t kStoreVersion = 2;
inline constexpr uint32_t kFirstStoreVersion = 1;  // version without sizes and text
inline constexpr uint32_t kPlacesVersion = 3;      // version of a store whose ids are in other files

// The places end with this: before it are the runs, the size of each file, and the names of the files, which end with
// a zero each, padded to a multiple of 8 bytes.
struct PlacesTrailer {
  uint64_t runs, files, name_bytes;
  uint32_t zero, crc;  // crc: of all before it
};
static_assert(sizeof(PlacesTrailer) == 32);

inline uint64_t align(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

inline uint32_t crc_of(const TokenStoreTrailer& trailer) {
  return crc32c(&trailer, offsetof(TokenStoreTrailer, trailer_crc));
}

inline uint32_t crc_of(const TokenStoreText& text) { return crc32c(&text, offsetof(TokenStoreText, text_crc)); }

}  // namespace gyre::token_store_format
