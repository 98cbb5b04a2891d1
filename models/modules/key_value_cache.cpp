#include "models/modules/key_value_cache.h"

#include <cmath>
#include <cstring>
#include <numeric>

namespace gyre {

KeyValueCache::KeyValueCache(int layers, int64_t dim, int rows, DType dtype) : dim_(dim), rows_(rows) {
  for (int layer = 0; layer < layers; ++layer)
    tokens_.push_back(Tensor::empty({int64_t{rows} * capacity_, 2 * dim}, dtype));
}

void KeyValueCache::begin_step() {
  if (length_ == capacity_) {
    std::vector<int> same(static_cast<size_t>(rows_));
    std::iota(same.begin(), same.end(), 0);
    rebuild(same, 2 * capacity_);
  }
  ++length_;
  segments_ = Segments::with_capacity(std::vector<int32_t>(size_t(rows_), length_), capacity_);
  queries_ = Segments::from_lengths(std::vector<int32_t>(size_t(rows_), 1));
}

// Rows of different layouts have the same bytes per token.
void KeyValueCache::copy_row(Tensor& to, int to_row, int to_capacity, const Tensor& from, int from_row) const {
  const size_t token = 2 * size_t(dim_) * dtype_bytes(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + size_t(to_row) * size_t(to_capacity) * token,
              static_cast<const char*>(from.raw()) + size_t(from_row) * size_t(capacity_) * token,
              size_t(length_) * token);
}

Tensor KeyValueCache::attend(Kernels& kernels, int layer, const Tensor& qkv, int heads) {
  const Tensor& tokens = tokens_[size_t(layer)];
  require(qkv.rows() == rows_ && qkv.dtype() == tokens.dtype(), "[key-value cache] expected ", rows_, " rows of ",
          dtype_name(tokens.dtype()), ", got ", qkv.rows(), " of ", dtype_name(qkv.dtype()));
  const size_t bytes = 2 * size_t(dim_) * dtype_bytes(tokens.dtype());
  for (int64_t row = 0; row < rows_; ++row) {
    std::memcpy(static_cast<char*>(tokens.raw()) + size_t(row * capacity_ + length_ - 1) * bytes,
                static_cast<const char*>(qkv.raw()) + size_t(row) * (bytes + bytes / 2) + bytes / 2, bytes);
  }
  const Tensor out = Tensor::empty({rows_, dim_}, qkv.dtype());
  kernels.attention(out, {}, {qkv}, {tokens}, {tokens, dim_}, queries_, segments_,
                    {heads, 1 / std::sqrt(double(dim_ / heads)), false, {}}, {});
  return out;
}

void KeyValueCache::gather(const std::vector<int>& parents) {
  std::vector<bool> read(static_cast<size_t>(rows_));
  for (int parent : parents) {
    require(parent >= 0 && parent < rows_, "[key-value cache] expected a row below ", rows_, ", got ", parent);
    read[size_t(parent)] = true;
  }
  bool in_place = int(parents.size()) <= rows_;
  for (size_t row = 0; in_place && row < parents.size(); ++row) in_place = parents[row] == int(row) || !read[row];
  if (!in_place) return rebuild(parents, capacity_);

  for (Tensor& t : tokens_) {
    for (size_t row = 0; row < parents.size(); ++row)
      if (parents[row] != int(row)) copy_row(t, int(row), capacity_, t, parents[row]);
    t = t.slice(0, int64_t(parents.size()) * capacity_);
  }
  rows_ = int(parents.size());
}

void KeyValueCache::rebuild(const std::vector<int>& parents, int capacity) {
  const int64_t rows = int64_t(parents.size()) * capacity;
  for (Tensor& old : tokens_) {
    Tensor fresh = Tensor::empty({rows, 2 * dim_}, old.dtype());
    for (size_t row = 0; row < parents.size(); ++row) copy_row(fresh, int(row), capacity, old, parents[row]);
    old = fresh;
  }
  rows_ = int(parents.size());
  capacity_ = capacity;
}

}  // namespace gyre
