#include "gyre/models/modules/cache.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gyre {

KeyValueCache::KeyValueCache(int layers, int rows)
    : steps_(static_cast<size_t>(layers)),
      terms_(static_cast<size_t>(layers)),
      ancestry_(Tensor::empty({rows, 0}, DType::i32)),
      parents_(size_t(rows)) {
  std::iota(parents_.begin(), parents_.end(), 0);
}

void KeyValueCache::begin_step() {
  const int64_t before = length(), now = before + 1;
  const Tensor path = Tensor::empty({rows(), now}, DType::i32);
  for (int64_t row = 0; row < rows(); ++row) {
    int32_t* to = path.data<int32_t>() + row * now;
    std::copy_n(ancestry_.data<int32_t>() + parents_[size_t(row)] * before, before, to);
    to[before] = int32_t(row);
  }
  ancestry_ = path;
  std::iota(parents_.begin(), parents_.end(), 0);
}

Tensor KeyValueCache::attend(Kernels& kernels, int layer, const Tensor& qkv, int heads) {
  std::vector<Tensor>& steps = steps_[size_t(layer)];
  require(qkv.dim(0) == ancestry_.dim(0) && int(steps.size()) == length() - 1, "[key-value cache] expected step ",
          length(), " with ", ancestry_.dim(0), " rows, got step ", steps.size() + 1, " with ", qkv.dim(0));
  steps.push_back(qkv);
  const int64_t dim = qkv.cols() / 3;
  Tensor out = Tensor::empty({qkv.dim(0), dim}, qkv.dtype(), qkv.device());
  const LayerPositionTerms& terms = terms_[size_t(layer)];
  kernels.decode_attention(out, steps, ancestry_, {.heads = heads, .scale = terms.scale, .dropout = {}}, terms.values);
  return out;
}

void KeyValueCache::gather(const std::vector<int>& parents) {
  std::vector<int> next;
  for (int parent : parents) {
    require(parent >= 0 && parent < rows(), "[key-value cache] expected a row below ", rows(), ", got ", parent);
    next.push_back(parents_[size_t(parent)]);
  }
  parents_ = std::move(next);
}

TokenCache::TokenCache(int layers, const std::vector<Place>& places, int64_t window, Keys keys)
    : window_(window),
      keys_(keys),
      lengths_(places.size()),
      stored_(places.size()),
      dropped_(places.size()),
      layers_(size_t(layers)),
      states_(size_t(layers), std::vector<LinearState>(places.size())) {
  require(layers >= 1, "[token cache] expected at least 1 layer, got ", layers);
  int64_t all = 0;
  for (const Place& place : places) {
    require(place.tokens >= 1, "[token cache] expected a capacity of at least 1 token, got ", place.tokens);
    begins_.push_back(int32_t(all));
    const int64_t most = std::max<int64_t>(place.first_chunk, window) + window;
    all += window > 0 ? std::min<int64_t>(place.tokens, most) : place.tokens;
    require(all <= std::numeric_limits<int32_t>::max(),
            "[token cache] expected a capacity of all texts below 2^31 tokens, got ", all);
  }
  capacity_ = int32_t(all);
  if (keys == Keys::rotated) return;
  row_positions_ = Tensor::empty({capacity_}, DType::i32);
  int32_t* position = row_positions_.data<int32_t>();
  for (int text = 0; text < texts(); ++text)
    for (int32_t row = 0; row < capacity_of(text); ++row) *position++ = row;
}

int64_t TokenCache::longest() const {
  return keys_ == Keys::unrotated ? capacity_ : *std::max_element(lengths_.begin(), lengths_.end());
}

int32_t TokenCache::capacity_of(int text) const {
  const size_t i = size_t(text);
  return (i + 1 < begins_.size() ? begins_[i + 1] : capacity_) - begins_[i];
}

// Removes rows that the next `count` rows do not see if there is no other room for them. Returns how many.
int32_t TokenCache::make_room(int text, int32_t count) {
  int32_t& stored = stored_[size_t(text)];
  const int32_t most = capacity_of(text), seen = int32_t(std::min<int64_t>(stored, window_ - 1));
  const bool moves = window_ > 0 && stored + count > most && seen + count <= most;
  require(moves || stored + count <= most, "[token cache] text ", text, ": expected at most ", most, " tokens, got ",
          stored + count);
  const int32_t dropped = moves ? stored - seen : 0;
  stored += count - dropped;
  return dropped;
}

void TokenCache::begin_chunk(const Segments& chunk) {
  require(chunk.count() == texts(), "[token cache] expected the tokens of ", texts(), " texts, got those of ",
          chunk.count());
  chunk_ = chunk;
  positions_ = Tensor::empty({chunk.tokens()}, DType::i32);
  int32_t* position = positions_.data<int32_t>();
  for (int text = 0; text < texts(); ++text) {
    const size_t i = size_t(text);
    const int32_t count = chunk.length(text);
    dropped_[i] = make_room(text, count);
    const int32_t first = keys_ == Keys::unrotated ? stored_[i] - count : lengths_[i];
    position = std::generate_n(position, count, [next = first]() mutable { return next++; });
    lengths_[i] += count;
  }
  rows_ = Segments::with_gaps(begins_, stored_, capacity_);
}

const TokenCache::Rows& TokenCache::extend(int layer, const Tensor& keys, const Tensor& values) {
  Rows& all = layers_[size_t(layer)];
  if (!all.keys) {
    all.keys = Tensor::empty({capacity_, keys.cols()}, keys.dtype(), keys.device());
    all.values = all.keys.like();
  }
  for (int text = 0; text < texts(); ++text) {
    const int64_t count = chunk_.length(text), begin = rows_.begin(text), end = rows_.end(text);
    if (count == 0) continue;
    if (const int64_t dropped = dropped_[size_t(text)]; dropped > 0) {
      for (const Tensor& rows : {all.keys, all.values})
        rows.slice(begin, end - count).copy_from(rows.slice(begin + dropped, end - count + dropped).clone());
    }
    all.keys.slice(end - count, end).copy_from(keys.slice(chunk_.begin(text), chunk_.end(text)));
    all.values.slice(end - count, end).copy_from(values.slice(chunk_.begin(text), chunk_.end(text)));
  }
  return all;
}

void TokenCache::copy(int from, int to) {
  const int64_t count = stored_[size_t(from)], source = begins_[size_t(from)], target = begins_[size_t(to)];
  require(count <= capacity_of(to), "[token cache] expected places of one size, got ", capacity_of(from), " and ",
          capacity_of(to));
  lengths_[size_t(to)] = lengths_[size_t(from)];
  stored_[size_t(to)] = stored_[size_t(from)];
  for (const Rows& layer : layers_) {
    for (const Tensor& rows : {layer.keys, layer.values})
      if (rows) rows.slice(target, target + count).copy_from(rows.slice(source, source + count));
  }
  for (std::vector<LinearState>& layer : states_) {
    const LinearState& state = layer[size_t(from)];
    if (state.keys) layer[size_t(to)] = {state.values.clone(), state.keys.clone()};
  }
}

}  // namespace gyre
