// Rotary position embedding of one head, applied while its rows are copied into or out of tiles. Formulas: rope.cpp.
#pragma once

#include <utility>

#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Rotates the rows of a head. `angles` has the layout of Kernels::rotary_angles, with one row per position.
template <class T>
class RopePairs {
 public:
  RopePairs(const RopeShape& rotary, const T* angles)
      : angles_(angles),
        dims_(rotary.dims),
        half_(rotary.dims / 2),
        interleaved_(rotary.pairs == RotaryPairs::interleaved),
        whole_vectors_(interleaved_ ? dims_ % kLanes<T> == 0 : half_ % kLanes<T> == 0) {}

  int64_t pairs() const { return half_; }
  int64_t first_of_pair(int64_t i) const { return interleaved_ ? 2 * i : i; }
  int64_t second_of_pair(int64_t i) const { return interleaved_ ? 2 * i + 1 : i + half_; }

  // Rotates n rows of a head: to = C from + S partner(from), or, if `back`, to = C from - S partner(from). Features
  // that are not rotated are copied. `to` and `from` are Rows or Tiles, and may be the same.
  template <bool back, class To, class From>
  void rotate(const To& to, const From& from, const int32_t* positions, int64_t n, int64_t width) const {
    if (!whole_vectors_) {
      rotate_features<back>(to, from, positions, n);
    } else if (interleaved_) {
      for (int64_t f = 0; f < dims_; f += kLanes<T>)
        rotate_interleaved<back>(columns_from(to, f), columns_from(from, f), positions, n, f);
    } else {
      for (int64_t f = 0; f < half_; f += kLanes<T>) {
        rotate_halves<back>(columns_from(to, f), columns_from(to, f + half_), columns_from(from, f),
                            columns_from(from, f + half_), positions, n, f);
      }
    }
    copy_rows<T>(to, from, n, dims_, width);
  }

 private:
  using Vector = typename Tile<T>::Vector;

  const T* cosines(int32_t position, int64_t f) const { return angles_ + position * 2 * dims_ + f; }
  static Vector load(const T* from) { return *reinterpret_cast<const Vector*>(from); }

  template <bool back, class X>
  static X rotated(X x, X partner, X cosine, X sine) {
    return back ? x * cosine - partner * sine : x * cosine + partner * sine;
  }

  template <size_t... I>
  static Vector swap_partners(Vector x, std::index_sequence<I...>) {
    return __builtin_shufflevector(x, x, (I ^ 1)...);
  }

  // Rotates one vector of features from f on, in which partners are neighbors.
  template <bool back, class To, class From>
  void rotate_interleaved(const Rows<To>& to, const Rows<From>& from, const int32_t* positions, int64_t n,
                          int64_t f) const {
    const int64_t dims = dims_;
    for (int64_t i = 0; i < n; ++i) {
      const T* c = cosines(positions[i], f);
      const Vector x = load_vector(from.at(i, 0));
      const Vector partner = swap_partners(x, std::make_index_sequence<size_t(kLanes<T>)>());
      store_vector(to.at(i, 0), rotated<back>(x, partner, load(c), load(c + dims)));
    }
  }

  // Rotates two vectors of partners, half the rotated features apart.
  template <bool back, class To, class From>
  void rotate_halves(const Rows<To>& to1, const Rows<To>& to2, const Rows<From>& from1, const Rows<From>& from2,
                     const int32_t* positions, int64_t n, int64_t f) const {
    const int64_t dims = dims_, half = half_;
    for (int64_t i = 0; i < n; ++i) {
      const T* c = cosines(positions[i], f);
      const Vector first = load_vector(from1.at(i, 0)), second = load_vector(from2.at(i, 0));
      store_vector(to1.at(i, 0), rotated<back>(first, second, load(c), load(c + dims)));
      store_vector(to2.at(i, 0), rotated<back>(second, first, load(c + half), load(c + half + dims)));
    }
  }

  // Rotates pair by pair, for dimensions that do not fill whole vectors.
  template <bool back, class To, class From>
  void rotate_features(const To& to, const From& from, const int32_t* positions, int64_t n) const {
    for (int64_t pair = 0; pair < half_; ++pair) {
      const int64_t f = first_of_pair(pair), g = second_of_pair(pair);
      const auto from1 = columns_from(from, f), from2 = columns_from(from, g);
      const auto to1 = columns_from(to, f), to2 = columns_from(to, g);
      for (int64_t i = 0; i < n; ++i) {
        const T* c = cosines(positions[i], 0);
        const T first = T(*from1.at(i, 0)), second = T(*from2.at(i, 0));
        set(to1.at(i, 0), rotated<back>(first, second, c[f], c[dims_ + f]));
        set(to2.at(i, 0), rotated<back>(second, first, c[g], c[dims_ + g]));
      }
    }
  }
  template <class D>
  static void set(D* to, T x) {
    *to = D(x);
  }

  const T* angles_;
  int64_t dims_, half_;
  bool interleaved_, whole_vectors_;
};

// Rotation of the rows of a batch. Without positions, rows are only copied.
template <class T>
struct RopeRows {
  RopePairs<T> rotator;
  const int32_t* positions = nullptr;

  RopeRows(const AttentionRope& r, const Tensor& positions)
      : rotator(r.rotary, data_or_null<T>(r.angles)), positions(r.angles ? positions.data<int32_t>() : nullptr) {}

  // tile(n, width) = n rotated rows of a head; row i of the tile is row `first` + i of the batch.
  template <class D>
  void pack(const Tile<T>& tile, const Rows<D>& from, int64_t first, int64_t feature, int64_t n, int64_t width) const {
    move<false>(tile, from.block(first, feature), first, n, width);
  }
  // The transpose, for gradients: rotates back from the tile into the rows.
  template <class D>
  void unpack(const Rows<D>& to, int64_t first, int64_t feature, const Tile<T>& tile, int64_t n, int64_t width) const {
    move<true>(to.block(first, feature), tile, first, n, width);
  }

 private:
  template <bool back, class To, class From>
  void move(const To& to, const From& from, int64_t first, int64_t n, int64_t width) const {
    if (positions) {
      rotator.template rotate<back>(to, from, positions + first, n, width);
    } else {
      copy_rows<T>(to, from, n, 0, width);
    }
  }
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
