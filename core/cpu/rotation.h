// The rotation of one row of a head's features (rope.cpp has the formulas), inside a tile.
#pragma once

#include <utility>

#include "core/cpu/small_gemm.h"
#include "core/cpu/transpose.h"
#include "core/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Turns rows of heads by their positions. Angles as in Kernels::rotary_angles.
template <class T>
class Rotator {
 public:
  Rotator(const Rotary& rotary, const T* angles)
      : angles_(angles),
        dims_(rotary.dims),
        half_(rotary.dims / 2),
        interleaved_(rotary.pairs == RotaryPairs::interleaved),
        whole_vectors_(interleaved_ ? dims_ % kLanes<T> == 0 : half_ % kLanes<T> == 0) {}

  int64_t pairs() const { return half_; }
  int64_t first_of_pair(int64_t i) const { return interleaved_ ? 2 * i : i; }
  int64_t second_of_pair(int64_t i) const { return interleaved_ ? 2 * i + 1 : i + half_; }

  // y = C x + S partner(x), or back: C x - S partner(x).
  void turn(Tile<T> tile, int64_t row, int32_t position, bool back) const {
    const T *cosines = angles_ + position * 2 * dims_, *sines = cosines + dims_;
    const T sign = back ? T(-1) : T(1);
    if (!whole_vectors_) {
      turn_pairs(tile, row, cosines, sines, sign);
    } else if (interleaved_) {
      turn_neighbours(tile, row, cosines, sines, sign);
    } else {
      turn_halves(tile, row, cosines, sines, sign);
    }
  }

 private:
  using Vector = typename Tile<T>::Vector;
  static Vector load(const T* from) { return *reinterpret_cast<const Vector*>(from); }

  template <size_t... I>
  static Vector swap_neighbours(Vector x, std::index_sequence<I...>) {
    using Indices = typename VectorOf<ShuffleIndex<T>>::type;
    return __builtin_shuffle(x, Indices{ShuffleIndex<T>(I ^ 1)...});
  }

  void turn_neighbours(Tile<T> tile, int64_t row, const T* cosines, const T* sines, T sign) const {
    for (int64_t f = 0; f < dims_; f += kLanes<T>) {
      Vector& x = tile.vector(row, f / kLanes<T>);
      const Vector partner = swap_neighbours(x, std::make_index_sequence<size_t(kLanes<T>)>());
      x = x * load(cosines + f) + partner * (sign * load(sines + f));
    }
  }

  void turn_halves(Tile<T> tile, int64_t row, const T* cosines, const T* sines, T sign) const {
    for (int64_t f = 0; f < half_; f += kLanes<T>) {
      Vector &first = tile.vector(row, f / kLanes<T>), &second = tile.vector(row, (f + half_) / kLanes<T>);
      const Vector x1 = first, x2 = second;
      first = x1 * load(cosines + f) + x2 * (sign * load(sines + f));
      second = x2 * load(cosines + half_ + f) + x1 * (sign * load(sines + half_ + f));
    }
  }

  void turn_pairs(Tile<T> tile, int64_t row, const T* cosines, const T* sines, T sign) const {
    for (int64_t i = 0; i < half_; ++i) {
      const int64_t a = first_of_pair(i), b = second_of_pair(i);
      const T x1 = tile.element(row, a), x2 = tile.element(row, b);
      tile.element(row, a) = x1 * cosines[a] + x2 * (sign * sines[a]);
      tile.element(row, b) = x2 * cosines[b] + x1 * (sign * sines[b]);
    }
  }

  const T* angles_;
  int64_t dims_, half_;
  bool interleaved_, whole_vectors_;
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
