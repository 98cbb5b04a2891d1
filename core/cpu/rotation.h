// Rotary position embedding of one head, applied while its rows are copied into or out of tiles.
#pragma once

#include <utility>

#include "gyre/core/cpu/formulas.h"
#include "gyre/core/cpu/head_tiles.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Rotates the rows of the heads of a batch. `angles` has the layout of Kernels::rotary_angles, with one row per
// position; without it, rows are only copied. `positions` has one row of `angles` for each row of the batch.
template <class T>
class RopeRows {
 public:
  RopeRows(const RopeShape& shape, const Tensor& angles, const Tensor& positions)
      : angles_(data_or_null<T>(angles)),
        positions_(angles ? positions.data<int32_t>() : nullptr),
        shape_(shape),
        dims_(shape.dims),
        half_(shape.dims / 2),
        whole_vectors_((shape.interleaved() ? dims_ : half_) % kLanes<T> == 0) {}

  bool rotates() const { return positions_ != nullptr; }
  int32_t position(int64_t row) const { return positions_[row]; }
  const RopeShape& shape() const { return shape_; }

  // Rotates n rows of a head: to = C from + S partner(from), or, if `back`, to = C from - S partner(from). Features
  // that are not rotated are copied. `to` and `from` are Rows or Tiles, and may be the same; their first row is row
  // `first` of the batch.
  template <bool back, class To, class From>
  void rotate(const To& to, const From& from, int64_t first, int64_t n, int64_t width) const {
    if (!rotates()) return copy_rows<T>(to, from, n, 0, width);
    const int32_t* positions = positions_ + first;
    if (!whole_vectors_) {
      rotate_features<back>(to, from, positions, n);
    } else if (shape_.interleaved()) {
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

  // tile(n, width) = n rotated rows of a head, from row `first` of the batch on.
  template <class D>
  void pack(const Tile<T>& tile, const Rows<D>& from, int64_t first, int64_t feature, int64_t n, int64_t width) const {
    rotate<false>(tile, from.block(first, feature), first, n, width);
  }
  // The transpose, for gradients: rotates back from the tile into the rows.
  template <class D>
  void unpack(const Rows<D>& to, int64_t first, int64_t feature, const Tile<T>& tile, int64_t n, int64_t width) const {
    rotate<true>(to.block(first, feature), tile, first, n, width);
  }

 private:
  using Vector = typename Tile<T>::Vector;

  const T* cosines(int32_t position, int64_t f) const { return angles_ + position * 2 * dims_ + f; }
  static Vector load(const T* from) { return *reinterpret_cast<const Vector*>(from); }

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
      store_vector(to.at(i, 0), rotated_feature<back>(x, partner, load(c), load(c + dims)));
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
      store_vector(to1.at(i, 0), rotated_feature<back>(first, second, load(c), load(c + dims)));
      store_vector(to2.at(i, 0), rotated_feature<back>(second, first, load(c + half), load(c + half + dims)));
    }
  }

  // Rotates pair by pair, for dimensions that do not fill whole vectors.
  template <bool back, class To, class From>
  void rotate_features(const To& to, const From& from, const int32_t* positions, int64_t n) const {
    for (int64_t pair = 0; pair < half_; ++pair) {
      const int64_t f = shape_.first_of_pair(pair), g = shape_.partner(f);
      const auto from1 = columns_from(from, f), from2 = columns_from(from, g);
      const auto to1 = columns_from(to, f), to2 = columns_from(to, g);
      for (int64_t i = 0; i < n; ++i) {
        const T* c = cosines(positions[i], 0);
        const T first = T(*from1.at(i, 0)), second = T(*from2.at(i, 0));
        set(to1.at(i, 0), rotated_feature<back>(first, second, c[f], c[dims_ + f]));
        set(to2.at(i, 0), rotated_feature<back>(second, first, c[g], c[dims_ + g]));
      }
    }
  }
  template <class D>
  static void set(D* to, T x) {
    *to = D(x);
  }

  const T* angles_;
  const int32_t* positions_;
  RopeShape shape_;
  int64_t dims_, half_;
  bool whole_vectors_;
};

}  // namespace gyre::GYRE_CPU_NAMESPACE
