#include "gyre/models/modules/token_cache.h"

#include <limits>

namespace gyre {

TokenCache::TokenCache(int layers, const std::vector<int32_t>& capacities)
    : lengths_(capacities.size()), layers_(size_t(layers)) {
  require(layers >= 1, "[token cache] expected at least 1 layer, got ", layers);
  int64_t all = 0;
  for (const int32_t capacity : capacities) {
    require(capacity >= 1, "[token cache] expected a capacity of at least 1 token, got ", capacity);
    begins_.push_back(int32_t(all));
    all += capacity;
    require(all <= std::numeric_limits<int32_t>::max(),
            "[token cache] expected a capacity of all texts below 2^31 tokens, got ", all);
  }
  capacity_ = int32_t(all);
}

void TokenCache::begin_chunk(const Segments& chunk) {
  require(chunk.count() == texts(), "[token cache] expected the tokens of ", texts(), " texts, got those of ",
          chunk.count());
  chunk_ = chunk;
  positions_ = Tensor::empty({chunk.tokens()}, DType::i32);
  int32_t* position = positions_.data<int32_t>();
  for (int text = 0; text < texts(); ++text) {
    const size_t i = size_t(text);
    const int32_t most = (i + 1 < begins_.size() ? begins_[i + 1] : capacity_) - begins_[i];
    require(lengths_[i] + chunk.length(text) <= most, "[token cache] text ", text, ": expected at most ", most,
            " tokens, got ", lengths_[i] + chunk.length(text));
    for (int n = chunk.length(text); n > 0; --n) *position++ = lengths_[i]++;
  }
  rows_ = Segments::with_gaps(begins_, lengths_, capacity_);
}

const TokenCache::Rows& TokenCache::extend(int layer, const Tensor& keys, const Tensor& values) {
  Rows& all = layers_[size_t(layer)];
  if (!all.keys) {
    all.keys = Tensor::empty({capacity_, keys.cols()}, keys.dtype(), keys.device());
    all.values = all.keys.like();
  }
  for (int text = 0; text < texts(); ++text) {
    const int64_t count = chunk_.length(text), end = rows_.end(text);
    if (count == 0) continue;
    all.keys.slice(end - count, end).copy_from(keys.slice(chunk_.begin(text), chunk_.end(text)));
    all.values.slice(end - count, end).copy_from(values.slice(chunk_.begin(text), chunk_.end(text)));
  }
  return all;
}

}  // namespace gyre
