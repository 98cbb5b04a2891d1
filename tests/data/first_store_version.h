// Turns a token store into the store that earlier versions of the program wrote.
#pragma once

#include <cstring>
#include <string>

#include "gyre/data/store/token_store.h"
#include "gyre/data/store/token_store_format.h"

namespace gyre {

// The bytes of the same store as earlier versions of the program wrote it, without sizes and description of the text.
inline std::string of_first_version(std::string bytes) {
  TokenStoreTrailer trailer;
  std::memcpy(&trailer, bytes.data() + bytes.size() - sizeof trailer, sizeof trailer);
  TokenStoreText text;
  std::memcpy(&text, bytes.data() + bytes.size() - sizeof trailer - sizeof text, sizeof text);
  const size_t left_out = sizeof text + (text.has_sizes != 0 ? trailer.sentences * 8 : 0);
  bytes.erase(bytes.size() - sizeof trailer - left_out, left_out);
  bytes[8] = 1;
  trailer.file_bytes = bytes.size();
  trailer.trailer_crc = token_store_format::crc_of(trailer);
  bytes.replace(bytes.size() - sizeof trailer, sizeof trailer, reinterpret_cast<const char*>(&trailer), sizeof trailer);
  return bytes;
}

}  // namespace gyre
