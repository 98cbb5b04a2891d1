#include "gyre/data/store/encoded_rows.h"

#include <utility>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/parallel_for.h"

namespace gyre {

namespace {

constexpr size_t kRowsPerThread = 2048, kRowBytesPerThread = size_t{8} << 20;

void encode_chunk(const Vocabulary& vocabulary, size_t sides, std::vector<EncodedRow>& chunk) {
  parallel_for(chunk.size(), 16, [&](size_t i) {
    for (size_t side = 0; side < sides; ++side) chunk[i].ids[side] = vocabulary.encode(chunk[i].row.text[side]);
  });
}

}  // namespace

bool read_encoded(const Vocabulary& vocabulary, ParallelText& text, std::vector<EncodedRow>& chunk) {
  const size_t rows = kRowsPerThread * size_t(threads()), bytes = kRowBytesPerThread * size_t(threads());
  chunk.clear();
  size_t read = 0;
  for (TextRow row; chunk.size() < rows && read < bytes && text.next(row);) {
    read += row.text[0].size() + row.text[1].size();
    chunk.push_back({std::move(row), {}});
  }
  encode_chunk(vocabulary, text.sides(), chunk);
  return !chunk.empty();
}

}  // namespace gyre
