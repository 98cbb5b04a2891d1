// Tile: a small matrix with a layout for vector registers.
#pragma once

#include "gyre/core/cpu/vector_type.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// A matrix in chunks of columns, as many as a vector has lanes. The rows of a chunk are contiguous, so that all strides
// inside a product are constants and a block of lanes x lanes can be transposed in registers.
template <class T>
struct Tile {
  using Vector = typename VectorOf<T>::type;
  T* data = nullptr;
  int64_t rows = 0;  // capacity, an even number

  int64_t chunk_elements() const { return rows * kLanes<T>; }
  T* at(int64_t row, int64_t chunk) const { return data + chunk * chunk_elements() + row * kLanes<T>; }
  T& element(int64_t row, int64_t column) const { return at(row, column / kLanes<T>)[column % kLanes<T>]; }
  Vector& vector(int64_t row, int64_t chunk) const { return *reinterpret_cast<Vector*>(at(row, chunk)); }
  Vector* vectors(int64_t chunk) const { return reinterpret_cast<Vector*>(at(0, chunk)); }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
