#include "gyre/data/store/token_store.h"

#include <cstdlib>
#include <cstring>
#include <vector>

#include "gyre/data/store/token_store_format.h"
#include "tests/fuzz/target.h"

using namespace gyre;

// Corrects the checksum of the trailer first, because otherwise almost every input would be rejected by it.
void read_input(std::string_view input) {
  std::vector<std::byte> bytes(input.size());
  if (!input.empty()) std::memcpy(bytes.data(), input.data(), input.size());
  if (TokenStoreTrailer trailer; bytes.size() >= sizeof trailer) {
    std::byte* const at = bytes.data() + bytes.size() - sizeof trailer;
    std::memcpy(&trailer, at, sizeof trailer);
    trailer.trailer_crc = token_store_format::crc_of(trailer);
    std::memcpy(at, &trailer, sizeof trailer);
  }
  const TokenStore store("input", std::move(bytes));
  for (size_t i = 0; i < store.size(); ++i) {
    for (int side = 0; side < store.sides(); ++side)
      if (store.sentence(i, side).size() != store.length(i, side)) std::abort();
  }
  store.verify();
}
