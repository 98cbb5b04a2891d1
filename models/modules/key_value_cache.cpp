#include "models/modules/key_value_cache.h"

#include <cstring>
#include <numeric>

namespace gyre {

KeyValueCache::KeyValueCache(int layers, int64_t dim, int rows, DType dtype) : dim_(dim), rows_(rows) {
  for (int layer = 0; layer < layers; ++layer) {
    keys_.push_back(Tensor::empty({int64_t{rows} * capacity_, dim}, dtype));
    values_.push_back(keys_.back().like());
  }
}

void KeyValueCache::begin_step() {
  if (length_ == capacity_) {
    std::vector<int> same(static_cast<size_t>(rows_));
    std::iota(same.begin(), same.end(), 0);
    rebuild(same, 2 * capacity_);
  }
  ++length_;
  segments_ = Segments::with_capacity(std::vector<int32_t>(size_t(rows_), length_), capacity_);
}

// Rows of different layouts have the same bytes per token.
void KeyValueCache::copy_row(Tensor& to, int to_row, int to_capacity, const Tensor& from, int from_row) const {
  const size_t token = size_t(dim_) * dtype_bytes(from.dtype());
  std::memcpy(static_cast<char*>(to.raw()) + size_t(to_row) * size_t(to_capacity) * token,
              static_cast<const char*>(from.raw()) + size_t(from_row) * size_t(capacity_) * token,
              size_t(length_) * token);
}

AttentionMemory KeyValueCache::extend(int layer, const AttentionMemory& token) {
  const Tensor &keys = keys_[size_t(layer)], &values = values_[size_t(layer)];
  require(token.keys.value().rows() == rows_ && token.keys.value().dtype() == keys.dtype(),
          "[key-value cache] expected ", rows_, " rows of ", dtype_name(keys.dtype()), ", got ",
          token.keys.value().rows(), " of ", dtype_name(token.keys.value().dtype()));
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t place = row * capacity_ + length_ - 1;
    keys.slice(place, place + 1).copy_from(token.keys.value().slice(row, row + 1));
    values.slice(place, place + 1).copy_from(token.values.value().slice(row, row + 1));
  }
  Tape& tape = token.keys.tape();
  return {tape.constant(keys), tape.constant(values), segments_};
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

  for (std::vector<Tensor>* tensors : {&keys_, &values_})
    for (Tensor& t : *tensors) {
      for (size_t row = 0; row < parents.size(); ++row)
        if (parents[row] != int(row)) copy_row(t, int(row), capacity_, t, parents[row]);
      t = t.slice(0, int64_t(parents.size()) * capacity_);
    }
  rows_ = int(parents.size());
}

void KeyValueCache::rebuild(const std::vector<int>& parents, int capacity) {
  const int64_t rows = int64_t(parents.size()) * capacity;
  for (std::vector<Tensor>* tensors : {&keys_, &values_})
    for (Tensor& old : *tensors) {
      Tensor fresh = Tensor::empty({rows, dim_}, old.dtype());
      for (size_t row = 0; row < parents.size(); ++row) copy_row(fresh, int(row), capacity, old, parents[row]);
      old = fresh;
    }
  rows_ = int(parents.size());
  capacity_ = capacity;
}

}  // namespace gyre
