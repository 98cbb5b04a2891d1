// The elementary operations: functions of one and of two elements with repeated operands, choice, sums and maxima over
// rows or columns, transposes, copies of columns.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <vector>

#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/formulas.h"
#include "gyre/core/cpu/gemm/linear.h"
#include "gyre/core/cpu/strips.h"
#include "gyre/core/cpu/transpose.h"
#include "gyre/core/kernels/repeat.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// The strips of a matrix with these operands. Without rows and columns to tell apart, it is one long row.
Strips strips_of(const Tensor& whole, std::initializer_list<Tensor> operands) {
  const bool has_rows = std::any_of(operands.begin(), operands.end(), [&](const Tensor& t) {
    const Repeat repeat = t ? repeat_of(t, whole) : Repeat::none;
    return repeat == Repeat::row || repeat == Repeat::column;
  });
  return has_rows ? Strips(whole.rows(), whole.cols()) : Strips(1, whole.size());
}

// Numbers of an operand, repeated to a strip.
template <class T, class C>
void repeat_to_strip(C* to, const T* from, Repeat repeat, const Strip& s) {
  for (int64_t i = 0; i < s.rows; ++i, to += s.columns) {
    if (repeat == Repeat::row) {
#pragma omp simd
      for (int64_t j = 0; j < s.columns; ++j) to[j] = from[s.column + j];
    } else {
      const C number = from[repeat == Repeat::column ? s.row + i : 0];
      for (int64_t j = 0; j < s.columns; ++j) to[j] = number;
    }
  }
}

template <class C>
class OperandStrips {
 public:
  OperandStrips(const Tensor& t, const Tensor& whole)
      : tensor_(t), repeat_(t ? repeat_of(t, whole) : Repeat::element), zero_(!t) {}

  // The numbers of a strip: in place, or in the buffer.
  const C* load(const Strips& strips, const Strip& s, C* buffer) const {
    if (zero_) {
      std::fill_n(buffer, s.size(), C(0));
      return buffer;
    }
    if (repeat_ == Repeat::none) return load_strip(tensor_, strips.first_element(s), s.size(), buffer);
    if (repeat_ == Repeat::row && s.rows == 1) return load_strip(tensor_, s.column, s.columns, buffer);
    if constexpr (std::is_same_v<C, float>) {
      if (tensor_.dtype() == DType::bf16) {
        repeat_to_strip(buffer, tensor_.data<bfloat16>(), repeat_, s);
        return buffer;
      }
    }
    repeat_to_strip(buffer, tensor_.data<C>(), repeat_, s);
    return buffer;
  }

 private:
  const Tensor& tensor_;
  Repeat repeat_;
  bool zero_;
};

// The sum of numbers in a fixed order. A loop over vectors costs narrow rows more than it saves.
template <class C>
C sum_of(const C* x, int64_t n) {
  C sum = 0;
  if (n < kLanes<C>) {
    for (int64_t j = 0; j < n; ++j) sum += x[j];
    return sum;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) sum += x[j];
  return sum;
}

// Sums a matrix, which is given strip by strip, to the shape of a repeated operand. The strips are divided into blocks,
// each of one thread. Their number depends only on the shape of the matrix, and their partial sums are added in order.
template <class C>
class SumOfStrips {
 public:
  SumOfStrips(const Tensor& to, const Tensor& whole, const Strips& strips, int64_t blocks)
      : to_(to), strips_(strips), repeat_(to ? repeat_of(to, whole) : Repeat::none), blocks_(blocks) {
    if (!to || repeat_ == Repeat::none) return;
    const int64_t sums = repeat_ == Repeat::row      ? blocks * strips.columns
                         : repeat_ == Repeat::column ? strips.rows * strips.of_row
                                                     : strips.count();
    partial_.assign(size_t(sums), C(0));
  }

  // Where to write the numbers of a strip; null if they are not wanted.
  C* place(const Strip& s, C* buffer) const {
    if (!to_) return nullptr;
    return repeat_ == Repeat::none ? strip_to_store(to_, strips_.first_element(s), buffer) : buffer;
  }

  void add(const C* numbers, const Strip& s, int64_t strip, int64_t block) {
    if (repeat_ == Repeat::none) return store_strip(to_, strips_.first_element(s), s.size(), numbers);
    if (repeat_ == Repeat::element) {
      partial_[size_t(strip)] = sum_of(numbers, s.size());
      return;
    }
    if (repeat_ == Repeat::column) {
      C* sums = partial_.data() + s.row * strips_.of_row + strip % strips_.of_row;
      for (int64_t i = 0; i < s.rows; ++i) sums[i * strips_.of_row] = sum_of(numbers + i * s.columns, s.columns);
    } else {
      C* sums = partial_.data() + block * strips_.columns + s.column;
      for (int64_t i = 0; i < s.rows; ++i, numbers += s.columns) {
#pragma omp simd
        for (int64_t j = 0; j < s.columns; ++j) sums[j] += numbers[j];
      }
    }
  }

  void finish(C factor) const {
    if (!to_ || repeat_ == Repeat::none) return;
    const int64_t n = to_.size(), each = n > 0 ? int64_t(partial_.size()) / n : 0;
    write_strips<C>(to_, Strips(1, n), [&](C* total, const Strip& s) {
      if (repeat_ == Repeat::row) {
        std::fill_n(total, s.columns, C(0));
        for (int64_t b = 0; b < blocks_; ++b) {
          const C* sums = partial_.data() + b * n + s.column;
#pragma omp simd
          for (int64_t j = 0; j < s.columns; ++j) total[j] += sums[j];
        }
      } else {
        const C* sums = partial_.data() + s.column * each;
        for (int64_t j = 0; j < s.columns; ++j) total[j] = sum_of(sums + j * each, each);
      }
      for (int64_t j = 0; j < s.columns; ++j) total[j] *= factor;
    });
  }

 private:
  const Tensor& to_;
  const Strips& strips_;
  Repeat repeat_;
  int64_t blocks_;
  std::vector<C> partial_;
};

// Blocks of strips, each worth a thread. Sums over rows take memory for each block, and so have a limited number.
int64_t blocks_for(const Strips& strips, const Tensor& whole, std::initializer_list<Tensor> sums) {
  const int64_t blocks = (strips.count() + 15) / 16;
  const bool over_rows = std::any_of(sums.begin(), sums.end(),
                                     [&](const Tensor& to) { return to && repeat_of(to, whole) == Repeat::row; });
  return over_rows ? std::min<int64_t>(64, blocks) : blocks;
}

// Calls f(strip, its number, its block) for all strips, in parallel.
template <class F>
void for_each_strip_of_blocks(const Strips& strips, int64_t blocks, const F& f) {
  const int64_t count = strips.count();
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = b * count / blocks; i < (b + 1) * count / blocks; ++i) f(strips.at(i), i, b);
  }
}

// y[i] = f(x[i]..), in parallel and without buffers. All tensors have the same size; y may be one of the x.
template <class T, class F, class... From>
void map_elements(const Tensor& y, const F& f, const From*... x) {
  T* to = y.data<T>();
  parallel_ranges(y.size(), 1, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) to[i] = f(Compute<From>(x[i])...);
  });
}

// The functions of a strip: one for each function and type of the arithmetic.

template <class C>
void function_values(C* y, const C* x, int64_t n, const ElementFunction& function) {
  with_function<C>(function, [=](const auto& f) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = f.value(x[i]);
  });
}

template <class C>
void function_gradients(C* dx, const C* dy, const C* x, int64_t n, const ElementFunction& function) {
  with_derivative<C>(function, [=](const auto& f) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * f.derivative(x[i]);
  });
}

template <class C>
void pair_values(C* y, const C* a, const C* b, int64_t n, PairFunction function) {
  with_pair_function(function, [=]<class F>(F) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = F::value(a[i], b[i]);
  });
}

template <class C>
void first_gradients(C* da, const C* dy, const C* a, const C* b, int64_t n, PairFunction function) {
  with_pair_function(function, [=]<class F>(F) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) da[i] = F::da(dy[i], a[i], b[i]);
  });
}

template <class C>
void second_gradients(C* db, const C* dy, const C* a, const C* b, int64_t n, PairFunction function) {
  with_pair_function(function, [=]<class F>(F) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) db[i] = F::db(dy[i], a[i], b[i]);
  });
}

// The mask of a choice, repeated like an operand.
class MaskStrips {
 public:
  MaskStrips(const Tensor& mask, const Tensor& whole) : mask_(mask.data<int32_t>()), repeat_(repeat_of(mask, whole)) {}

  const int32_t* load(const Strips& strips, const Strip& s, int32_t* buffer) const {
    if (repeat_ == Repeat::none) return mask_ + strips.first_element(s);
    repeat_to_strip(buffer, mask_, repeat_, s);
    return buffer;
  }

 private:
  const int32_t* mask_;
  Repeat repeat_;
};

}  // namespace

// ---- Functions of one and of two elements --------------------------------------------------------------------------

void CpuKernels::unary(const Tensor& y, const Tensor& x, const ElementFunction& f) {
  if (f.kind == UnaryFunction::identity && x.size() == y.size()) {
    return dispatch_data_type(y, [&]<class T>(T) {
      dispatch_data_type(x, [&]<class From>(From) {
        map_elements<T>(
            y, [](Compute<From> number) { return Compute<T>(number); }, x.data<From>());
      });
    });
  }
  if (f.is_multiple() && are_alike(y, x)) {
    return dispatch_data_type(y, [&]<class T>(T) {
      const ScaleElement<Compute<T>> scale{Compute<T>(f.a)};
      map_elements<T>(
          y, [scale](Compute<T> number) { return scale.value(number); }, x.data<T>());
    });
  }
  dispatch_compute_type(y, [&]<class C>(C) {
    const Strips strips = strips_of(y, {x});
    const OperandStrips<C> operand(x, y);
    write_strips<C>(y, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> buffer;
      function_values(to, operand.load(strips, s, buffer), s.size(), f);
    });
  });
}

void CpuKernels::unary_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const ElementFunction& f) {
  dispatch_compute_type(dx, [&]<class C>(C) {
    const Strips strips = strips_of(dx, {});
    write_strips<C>(dx, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> of_dy, of_x;
      const int64_t first = strips.first_element(s), n = s.size();
      function_gradients(to, load_strip(dy, first, n, of_dy), load_strip(x, first, n, of_x), n, f);
    });
  });
}

void CpuKernels::binary(const Tensor& y, const Tensor& a, const Tensor& b, PairFunction f) {
  if (are_alike(y, a, b)) {
    return dispatch_data_type(y, [&]<class T>(T) {
      using C = Compute<T>;
      with_pair_function(f, [&]<class F>(F) {
        map_elements<T>(
            y, [](C x, C z) { return F::value(x, z); }, a.data<T>(), b.data<T>());
      });
    });
  }
  dispatch_compute_type(y, [&]<class C>(C) {
    const Strips strips = strips_of(y, {a, b});
    const OperandStrips<C> first(a, y), second(b, y);
    write_strips<C>(y, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> of_a, of_b;
      pair_values(to, first.load(strips, s, of_a), second.load(strips, s, of_b), s.size(), f);
    });
  });
}

void CpuKernels::binary_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a, const Tensor& b,
                                 PairFunction f) {
  dispatch_compute_type(dy, [&]<class C>(C) {
    const bool linear = f == PairFunction::add || f == PairFunction::subtract;  // the gradients are those of dy
    const Strips strips = strips_of(dy, {a, b});
    const int64_t blocks = blocks_for(strips, dy, {da, db});
    const OperandStrips<C> first(a, dy), second(b, dy), slopes(dy, dy);
    SumOfStrips<C> to_a(da, dy, strips, blocks), to_b(db, dy, strips, blocks);
    for_each_strip_of_blocks(strips, blocks, [&](const Strip& s, int64_t number, int64_t block) {
      alignas(kVectorBytes) Buffer<C> of_a, of_b, of_dy, gradient;
      const C* g = slopes.load(strips, s, of_dy);
      const C* x = linear ? g : first.load(strips, s, of_a);
      const C* y = linear ? g : second.load(strips, s, of_b);
      if (C* to = to_a.place(s, gradient)) {
        first_gradients(to, g, x, y, s.size(), f);
        to_a.add(to, s, number, block);
      }
      if (C* to = to_b.place(s, gradient)) {
        second_gradients(to, g, x, y, s.size(), f);
        to_b.add(to, s, number, block);
      }
    });
    to_a.finish(1);
    to_b.finish(1);
  });
}

// ---- Choice ---------------------------------------------------------------------------------------------------------

void CpuKernels::where(const Tensor& y, const Tensor& mask, const Tensor& a, const Tensor& b) {
  dispatch_compute_type(y, [&]<class C>(C) {
    const Strips strips = strips_of(y, {mask, a, b});
    const OperandStrips<C> first(a, y), second(b, y);
    const MaskStrips masks(mask, y);
    write_strips<C>(y, strips, [&](C* to, const Strip& s) {
      alignas(kVectorBytes) Buffer<C> of_a, of_b;
      alignas(kVectorBytes) Buffer<int32_t> of_mask;
      const C *if_set = first.load(strips, s, of_a), *if_not = second.load(strips, s, of_b);
      const int32_t* set = masks.load(strips, s, of_mask);
#pragma omp simd
      for (int64_t i = 0; i < s.size(); ++i) to[i] = set[i] != 0 ? if_set[i] : if_not[i];
    });
  });
}

void CpuKernels::where_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& mask) {
  dispatch_compute_type(dy, [&]<class C>(C) {
    const Strips strips = strips_of(dy, {mask, da, db});
    const int64_t blocks = blocks_for(strips, dy, {da, db});
    const OperandStrips<C> slopes(dy, dy);
    const MaskStrips masks(mask, dy);
    SumOfStrips<C> to_a(da, dy, strips, blocks), to_b(db, dy, strips, blocks);
    for_each_strip_of_blocks(strips, blocks, [&](const Strip& s, int64_t number, int64_t block) {
      alignas(kVectorBytes) Buffer<C> of_dy, gradient;
      alignas(kVectorBytes) Buffer<int32_t> of_mask;
      const C* g = slopes.load(strips, s, of_dy);
      const int32_t* set = masks.load(strips, s, of_mask);
      const int64_t n = s.size();
      if (C* to = to_a.place(s, gradient)) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) to[i] = set[i] != 0 ? g[i] : C(0);
        to_a.add(to, s, number, block);
      }
      if (C* to = to_b.place(s, gradient)) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) to[i] = set[i] != 0 ? C(0) : g[i];
        to_b.add(to, s, number, block);
      }
    });
    to_a.finish(1);
    to_b.finish(1);
  });
}

// ---- Sums and maxima -----------------------------------------------------------------------------------------------

void CpuKernels::sum(const Tensor& y, const Tensor& x, double factor) {
  if (x.size() == 0) return y.zero();
  dispatch_compute_type(x, [&]<class C>(C) {
    if (y.size() == x.size()) return unary(y, x, {UnaryFunction::affine, factor, 0});
    const Strips strips = strips_of(x, {y});
    const int64_t blocks = blocks_for(strips, x, {y});
    const OperandStrips<C> operand(x, x);
    SumOfStrips<C> sums(y, x, strips, blocks);
    for_each_strip_of_blocks(strips, blocks, [&](const Strip& s, int64_t number, int64_t block) {
      alignas(kVectorBytes) Buffer<C> buffer;
      sums.add(operand.load(strips, s, buffer), s, number, block);
    });
    sums.finish(C(factor));
  });
}

namespace {

template <class C>
C larger(C a, C b) {
  return LargerOfPair::value(a, b);
}

// The largest of n numbers, or NaN.
template <class C, class T>
C largest_of(const T* x, int64_t n) {
  constexpr int64_t lanes = 2 * kLanes<C>;
  if (n < lanes) {
    C most_of_few = x[0];
    for (int64_t i = 1; i < n; ++i) most_of_few = larger(most_of_few, C(x[i]));
    return most_of_few;
  }
  C most[lanes];
  std::fill_n(most, lanes, -std::numeric_limits<C>::infinity());
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) most[l] = larger(most[l], C(x[i + l]));
  }
  for (; i < n; ++i) most[0] = larger(most[0], C(x[i]));
  for (int64_t l = 1; l < lanes; ++l) most[0] = larger(most[0], most[l]);
  return most[0];
}

}  // namespace

void CpuKernels::largest(const Tensor& y, const Tensor& x) {
  dispatch_data_type(x, [&]<class T>(T) {
    const int64_t d = x.cols();
    T* to = y.data<T>();
    const T* from = x.data<T>();
    parallel_ranges(x.rows(), d, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = largest_of<Compute<T>>(from + i * d, d);
    });
  });
}

void CpuKernels::largest_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& y) {
  dispatch_data_type(x, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = x.cols();
    T* to = dx.data<T>();
    const T *from = x.data<T>(), *most = y.data<T>(), *g = dy.data<T>();
    parallel_ranges(x.rows(), 2 * d, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = from + i * d;
        const C largest = most[i];
        C ties = 0;
#pragma omp simd reduction(+ : ties)
        for (int64_t j = 0; j < d; ++j) ties += C(int(C(row[j]) == largest));
        const C share = C(g[i]) / ties;
#pragma omp simd
        for (int64_t j = 0; j < d; ++j) to[i * d + j] = share * C(int(C(row[j]) == largest));
      }
    });
  });
}

void CpuKernels::log_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  dispatch_data_type(y, [&]<class T>(T) {
    using C = Compute<T>;
    const int64_t d = y.cols();
    parallel_ranges(y.rows(), d,
                    [=, to = dx.data<T>(), g = dy.data<T>(), out = y.data<T>()](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const T *slope = g + i * d, *value = out + i * d;
                        C sum = 0;
#pragma omp simd reduction(+ : sum)
                        for (int64_t j = 0; j < d; ++j) sum += C(slope[j]);
#pragma omp simd
                        for (int64_t j = 0; j < d; ++j) to[i * d + j] = C(slope[j]) - exponential(C(value[j])) * sum;
                      }
                    });
  });
}

// ---- Matrix products -----------------------------------------------------------------------------------------------

void CpuKernels::matmul(const Tensor& y, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  if (y.size() == 0) return;
  const int64_t summed = a.dim(transpose_a ? 0 : 1);
  if (summed == 0) return y.zero();
  const ProductShape shape{y.rows(), y.cols(), summed};
  const Tensor& data = a.dtype() == DType::bf16 ? a : b;
  dispatch_data_type(data, [&]<class T>(T) {
    product<T>(y, shape, transpose_a ? columns(a) : rows(a), transpose_b ? rows(b) : columns(b));
  });
}

// ---- Moves of elements ---------------------------------------------------------------------------------------------

namespace {

// Passes each tile through buffers: lines of the cache that are a power of two apart would displace each other. Words
// of two bytes are widened, because transpose() moves lanes of four or eight.
template <class Word>
void transpose_words(Word* to, const Word* from, int64_t n, int64_t d) {
  using Lane = std::conditional_t<sizeof(Word) == 8, double, float>;
  using Wide = std::conditional_t<sizeof(Word) == 8, uint64_t, uint32_t>;
  using Vector = typename VectorOf<Lane>::type;
  constexpr int64_t kTile = 16, lanes = kLanes<Lane>;
  const int64_t row_tiles = (n + kTile - 1) / kTile, column_tiles = (d + kTile - 1) / kTile;
  parallel_ranges(row_tiles * column_tiles, kTile * kTile, [=](int64_t begin, int64_t end) {
    alignas(kVectorBytes) Wide tile[kTile][kTile] = {}, transposed[kTile][kTile];
    const auto transpose_tile = [&](int64_t row, int64_t column, int64_t rows, int64_t columns) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) tile[i][j] = from[(row + i) * d + column + j];
      }
      for (int64_t i = 0; i < kTile; i += lanes) {
        for (int64_t j = 0; j < kTile; j += lanes) {
          Vector block[lanes];
          for (int64_t l = 0; l < lanes; ++l) std::memcpy(&block[l], &tile[i + l][j], sizeof(Vector));
          gyre::GYRE_CPU_NAMESPACE::transpose<Lane>(block);
          for (int64_t l = 0; l < lanes; ++l) std::memcpy(&transposed[j + l][i], &block[l], sizeof(Vector));
        }
      }
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) to[(column + j) * n + row + i] = Word(transposed[j][i]);
      }
    };
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t % row_tiles * kTile, column = t / row_tiles * kTile;
      if (row + kTile <= n && column + kTile <= d)
        transpose_tile(row, column, kTile, kTile);
      else
        transpose_tile(row, column, std::min(kTile, n - row), std::min(kTile, d - column));
    }
  });
}

}  // namespace

void CpuKernels::transpose(const Tensor& y, const Tensor& x) {
  const int64_t n = y.cols(), d = x.cols();
  if (x.size() == 0) return;
  const auto with = [&]<class Word>(Word) {
    transpose_words(static_cast<Word*>(y.raw()), static_cast<const Word*>(x.raw()), n, d);
  };
  const size_t bytes = dtype_bytes(x.dtype());
  bytes == 2 ? with(uint16_t{}) : bytes == 4 ? with(uint32_t{}) : with(uint64_t{});
}

void CpuKernels::copy_columns(const Tensor& y, int64_t y_first, const Tensor& x, int64_t x_first, int64_t count,
                              bool add) {
  if (count == 0) return;
  dispatch_data_type(y, [&]<class T>(T) {
    dispatch_data_type(x, [&]<class S>(S) {
      using C = Compute<T>;
      if constexpr (std::is_same_v<C, Compute<S>>) {
        T* to = y.data<T>() + y_first;
        const S* from = x.data<S>() + x_first;
        const int64_t to_stride = y.cols(), from_stride = x.cols();
        parallel_ranges(y.rows(), count, [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            T* row = to + i * to_stride;
            const S* source = from + i * from_stride;
            if (add) {
#pragma omp simd
              for (int64_t j = 0; j < count; ++j) row[j] = C(row[j]) + C(source[j]);
            } else if constexpr (std::is_same_v<S, T>) {
              std::memcpy(row, source, size_t(count) * sizeof(T));
            } else {
#pragma omp simd
              for (int64_t j = 0; j < count; ++j) row[j] = C(source[j]);
            }
          }
        });
      } else {
        throw Error("[copy_columns] cannot copy ", x.dtype(), " to ", y.dtype());
      }
    });
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
