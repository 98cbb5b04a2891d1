// The elementary operations: functions of one and of two elements with repeated operands, choice, sums and maxima over
// rows or columns, transposes, copies of columns. Matrix products are in gemm/linear.cu.
#include "gyre/core/cuda/columns.h"
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/formulas.h"
#include "gyre/core/cuda/map.h"
#include "gyre/core/kernels/repeat.h"

namespace gyre::cuda {
namespace {

// A matrix in packs of neighboring columns. Without rows and columns to tell apart, it is one long row, and each thread
// has one pack; otherwise a thread has the same columns of several rows (columns.h).
struct PackWalk {
  ColumnWalk columns;
  bool flat;
};

template <class T>
PackWalk walk_packs(const Tensor& whole, std::initializer_list<Tensor> operands) {
  for (const Tensor& t : operands) {
    const Repeat repeat = t ? repeat_of(t, whole) : Repeat::none;
    if (repeat == Repeat::row || repeat == Repeat::column) return {walk_columns<T>(whole.rows(), whole.cols()), false};
  }
  return {{dim3(map_blocks<T>(whole.size())), dim3(kMapThreads), 1, whole.size(), 1}, true};
}

// Calls f(row, column, count) for each pack of the calling thread.
template <class T, class F>
__device__ void for_own_packs(const PackWalk& walk, const F& f) {
  const int64_t column = walk.flat ? first_of_thread<T>() : own_column<T>();
  const int count = count_in_pack<T>(column, walk.columns.columns);
  if (count == 0) return;
  if (walk.flat) return f(int64_t{0}, column, count);
  for_own_rows(walk.columns, [&](int64_t row) { f(row, column, count); });
}

// An operand of data of type T, repeated: element (row, column) is data[row * row_step + column * column_step]. It may
// have the type of the arithmetic. A null pointer stands for zeros.
template <class T>
struct OperandPacks {
  using C = Compute<T>;
  const void* data;
  int64_t row_step;
  bool whole_rows;  // column_step is 1, otherwise 0
  bool wide, aligned;

  __device__ void load(C (&to)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    constexpr int N = kPackSize<T>;
    if (data && whole_rows) {
      const int64_t first = row * row_step + column;
      if (wide) {
        load_numbers(to, static_cast<const C*>(data) + first, count, aligned);
      } else {
        load_numbers(to, static_cast<const T*>(data) + first, count, aligned);
      }
      return;
    }
    C number = 0;
    if (data) {
      number = wide ? static_cast<const C*>(data)[row * row_step] : C(static_cast<const T*>(data)[row * row_step]);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = number;
  }
};

template <class T>
OperandPacks<T> operand_packs(const Tensor& t, const Tensor& whole, const PackWalk& walk) {
  if (!t) return {nullptr, 0, false, false, false};
  const Repeat repeat = repeat_of(t, whole);
  const bool whole_rows = repeat == Repeat::none || repeat == Repeat::row;
  const int64_t columns = walk.columns.columns;
  const int64_t step = repeat == Repeat::none ? columns : repeat == Repeat::column ? 1 : 0;
  const bool aligned = is_aligned(t.raw()) && (walk.flat || columns % kPackSize<T> == 0);
  return {t.raw(), step, whole_rows, t.dtype() != dtype_of<T>(), aligned};
}

// Functors that compute one pack: take(numbers, row, column, count) writes the results to `numbers`.

template <class T>
struct ScaledPacks {
  OperandPacks<T> x;
  Compute<T> factor;

  __device__ void take(Compute<T> (&to)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    x.load(to, row, column, count);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) to[i] = factor * to[i];
  }
};

template <class C>
__device__ C value_of(PairFunction function, C a, C b) {
  switch (function) {
    case PairFunction::add:
      return SumOfPair::value(a, b);
    case PairFunction::subtract:
      return DifferenceOfPair::value(a, b);
    case PairFunction::multiply:
      return ProductOfPair::value(a, b);
    case PairFunction::divide:
      return QuotientOfPair::value(a, b);
    case PairFunction::maximum:
      return LargerOfPair::value(a, b);
  }
  return a;
}

template <class C>
__device__ C gradient_of(PairFunction function, bool second, C dy, C a, C b) {
  switch (function) {
    case PairFunction::add:
      return second ? SumOfPair::db(dy, a, b) : SumOfPair::da(dy, a, b);
    case PairFunction::subtract:
      return second ? DifferenceOfPair::db(dy, a, b) : DifferenceOfPair::da(dy, a, b);
    case PairFunction::multiply:
      return second ? ProductOfPair::db(dy, a, b) : ProductOfPair::da(dy, a, b);
    case PairFunction::divide:
      return second ? QuotientOfPair::db(dy, a, b) : QuotientOfPair::da(dy, a, b);
    case PairFunction::maximum:
      return second ? LargerOfPair::db(dy, a, b) : LargerOfPair::da(dy, a, b);
  }
  return dy;
}

template <class T>
struct PairValues {
  OperandPacks<T> a, b;
  PairFunction function;

  __device__ void take(Compute<T> (&to)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    Compute<T> second[kPackSize<T>];
    a.load(to, row, column, count);
    b.load(second, row, column, count);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) to[i] = value_of(function, to[i], second[i]);
  }
};

template <class T>
struct PairGradients {
  OperandPacks<T> dy, a, b;
  PairFunction function;
  bool of_second;

  __device__ void take(Compute<T> (&to)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    Compute<T> first[kPackSize<T>], second[kPackSize<T>];
    dy.load(to, row, column, count);
    a.load(first, row, column, count);
    b.load(second, row, column, count);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) to[i] = gradient_of(function, of_second, to[i], first[i], second[i]);
  }
};

// The mask of a choice, repeated like an operand.
struct MaskPacks {
  const int32_t* data;
  int64_t row_step, column_step;
  __device__ bool is_set(int64_t row, int64_t column) const { return data[row * row_step + column * column_step] != 0; }
};

MaskPacks mask_packs(const int32_t* data, const Tensor& mask, const Tensor& whole, const PackWalk& walk) {
  const Repeat repeat = repeat_of(mask, whole);
  const int64_t step = repeat == Repeat::none ? walk.columns.columns : repeat == Repeat::column ? 1 : 0;
  return {data, step, repeat == Repeat::none || repeat == Repeat::row ? 1 : 0};
}

// a where the mask is set, else b.
template <class T>
struct ChosenPacks {
  OperandPacks<T> a, b;
  MaskPacks mask;

  __device__ void take(Compute<T> (&to)[kPackSize<T>], int64_t row, int64_t column, int count) const {
    Compute<T> second[kPackSize<T>];
    a.load(to, row, column, count);
    b.load(second, row, column, count);
#pragma unroll
    for (int i = 0; i < kPackSize<T>; ++i) {
      if (i < count && !mask.is_set(row, column + i)) to[i] = second[i];
    }
  }
};

// ---- Results of the shape of the whole matrix, or summed to that of a repeated operand -----------------------------

// to = what `taken` computes. `wide`: `to` has the type of the arithmetic.
template <class T, class Taken>
__global__ void write_kernel(void* to, bool wide, bool aligned, PackWalk walk, Taken taken) {
  for_own_packs<T>(walk, [&](int64_t row, int64_t column, int count) {
    Compute<T> numbers[kPackSize<T>];
    taken.take(numbers, row, column, count);
    const int64_t first = row * walk.columns.columns + column;
    if (wide) {
      store_numbers(static_cast<Compute<T>*>(to) + first, numbers, count, aligned);
    } else {
      store_numbers(static_cast<T*>(to) + first, numbers, count, aligned);
    }
  });
}

template <class T, class Taken>
void write(const Context& context, const Tensor& to, const PackWalk& walk, const Taken& taken) {
  const bool aligned = is_aligned(to.raw()) && (walk.flat || walk.columns.columns % kPackSize<T> == 0);
  launch(write_kernel<T, Taken>, walk.columns.grid, walk.columns.block, 0, context.stream(), to.raw(),
         to.dtype() != dtype_of<T>(), aligned, walk, taken);
}

// A team of threads processes a row: a warp, or for wide rows a block.
constexpr int64_t kRowOfWarp = 1024;
constexpr int kRowThreads = 256;

dim3 team_blocks(int64_t rows, int64_t columns) {
  return dim3(unsigned(columns > kRowOfWarp ? rows : divide_up(rows, int64_t{kRowThreads / kWarp})));
}
dim3 team_threads(int64_t columns) {
  return columns > kRowOfWarp ? dim3(kRowThreads) : dim3(kWarp, kRowThreads / kWarp);
}
__device__ inline int64_t row_of_team() { return int64_t(blockIdx.x) * blockDim.y + threadIdx.y; }
template <class C>
__device__ C team_sum(C x, C* scratch) {
  return blockDim.x == kWarp ? warp_sum(x) : block_sum(x, scratch);
}

// to(rows) = sums over the columns.
template <class T, class Taken>
__global__ void row_sums_kernel(Compute<T>* to, int64_t rows, int64_t columns, Taken taken) {
  using C = Compute<T>;
  __shared__ C scratch[kWarp];
  const int64_t row = row_of_team();
  if (row >= rows) return;
  C sum = 0;
  for (int64_t column = int64_t(threadIdx.x) * kPackSize<T>; column < columns;
       column += int64_t(blockDim.x) * kPackSize<T>) {
    const int count = count_in_pack<T>(column, columns);
    C numbers[kPackSize<T>];
    taken.take(numbers, row, column, count);
    for (int i = 0; i < count; ++i) sum += numbers[i];
  }
  sum = team_sum(sum, scratch);
  if (threadIdx.x == 0) to[row] = sum;
}

// partial(blocks) = sums over packs of all rows.
template <class T, class Taken>
__global__ void block_sums_kernel(Compute<T>* partial, int64_t rows, int64_t columns, Taken taken) {
  using C = Compute<T>;
  __shared__ C scratch[kWarp];
  const int64_t packs = (columns + kPackSize<T> - 1) / kPackSize<T>;
  C sum = 0;
  for (int64_t p = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; p < rows * packs;
       p += int64_t(gridDim.x) * blockDim.x) {
    const int64_t column = p % packs * kPackSize<T>;
    const int count = count_in_pack<T>(column, columns);
    C numbers[kPackSize<T>];
    taken.take(numbers, p / packs, column, count);
    for (int i = 0; i < count; ++i) sum += numbers[i];
  }
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

template <class C>
__global__ void add_blocks_kernel(C* to, const C* partial, int64_t count) {
  __shared__ C scratch[kWarp];
  C sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += partial[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *to = sum;
}

// `to` = what `taken` computes, summed over the repetitions of `to` in the matrix.
template <class T, class Taken>
void sum_to(Context& context, const Tensor& to, const Tensor& whole, const PackWalk& walk, const Taken& taken) {
  using C = Compute<T>;
  const Repeat repeat = repeat_of(to, whole);
  if (repeat == Repeat::none) return write<T>(context, to, walk, taken);
  const int64_t rows = walk.columns.rows, columns = walk.columns.columns;
  const Tensor sums = to.dtype() == dtype_of<C>() ? to : context.empty(to.shape(), dtype_of<C>());
  if (repeat == Repeat::row || rows * columns == 0) {
    sums.zero();
    if (repeat == Repeat::row) add_column_sums<T>(context, sums, rows, columns, taken);
  } else if (repeat == Repeat::column) {
    launch(row_sums_kernel<T, Taken>, team_blocks(rows, columns), team_threads(columns), 0, context.stream(),
           sums.data<C>(), rows, columns, taken);
  } else {
    const int64_t blocks = sum_blocks(rows * divide_up(columns, kPackSize<T>));
    const Tensor partial = context.empty({blocks}, dtype_of<C>());
    launch(block_sums_kernel<T, Taken>, dim3(unsigned(blocks)), dim3(kRowThreads), 0, context.stream(),
           partial.data<C>(), rows, columns, taken);
    launch(add_blocks_kernel<C>, dim3(1), dim3(kRowThreads), 0, context.stream(), sums.data<C>(), partial.data<C>(),
           blocks);
  }
  if (to.dtype() != sums.dtype()) convert(context, to, sums);
}

template <class F>
struct ValueOf {
  F f;
  template <class C>
  __device__ C operator()(C x) const {
    return f.value(x);
  }
};

template <class F>
struct GradientOf {
  F f;
  template <class C>
  __device__ C operator()(C dy, C x) const {
    return dy * f.derivative(x);
  }
};

template <class F>
struct PairValue {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return F::value(a, b);
  }
};

// The type with the smaller elements: a thread converts as many as fill a pack of it.
template <class T, class From>
using Smaller = std::conditional_t<sizeof(T) < sizeof(From), T, From>;

template <class T, class From>
__global__ void convert_kernel(T* to, const From* from, int64_t n, bool aligned) {
  constexpr int kN = kPackSize<Smaller<T, From>>;
  const int64_t first = first_of_thread<Smaller<T, From>>();
  const int count = count_in_pack<Smaller<T, From>>(first, n);
  if (count == 0) return;
  Compute<From> numbers[kN];
  Compute<T> converted[kN];
  load_numbers(numbers, from + first, count, aligned);
#pragma unroll
  for (int i = 0; i < kN; ++i) converted[i] = Compute<T>(numbers[i]);
  store_numbers(to + first, converted, count, aligned);
}

}  // namespace

void convert(const Context& context, const Tensor& out, const Tensor& x) {
  dispatch_data_type(out, [&]<class T>(T) {
    dispatch_data_type(x, [&]<class From>(From) {
      launch(convert_kernel<T, From>, dim3(map_blocks<Smaller<T, From>>(x.size())), dim3(kMapThreads), 0,
             context.stream(), out.data<T>(), x.data<From>(), x.size(), all_aligned(out, x));
    });
  });
}

// ---- Functions of one and of two elements --------------------------------------------------------------------------

void CudaKernels::unary(const Tensor& y, const Tensor& x, const ElementFunction& function) {
  if (function.kind == UnaryFunction::identity && x.size() == y.size()) return cuda::convert(context_, y, x);
  dispatch_data_type(y, [&]<class T>(T) {
    using C = Compute<T>;
    if (are_alike(y, x)) {
      return with_function<C>(function,
                              [&](const auto& f) { map<T>(context_, y, ValueOf<std::decay_t<decltype(f)>>{f}, x); });
    }
    const bool scales = function.is_multiple();
    const PackWalk walk = walk_packs<T>(y, {x});
    write<T>(context_, y, walk, ScaledPacks<T>{operand_packs<T>(x, y, walk), scales ? C(function.a) : C(1)});
    if (!scales && function.kind != UnaryFunction::identity) unary(y, y, function);
  });
}

void CudaKernels::unary_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const ElementFunction& function) {
  dispatch_data_type(dx, [&]<class T>(T) {
    with_derivative<Compute<T>>(
        function, [&](const auto& f) { map<T>(context_, dx, GradientOf<std::decay_t<decltype(f)>>{f}, dy, x); });
  });
}

void CudaKernels::binary(const Tensor& y, const Tensor& a, const Tensor& b, PairFunction function) {
  dispatch_data_type(y, [&]<class T>(T) {
    if (are_alike(y, a, b))
      return with_pair_function(function, [&]<class F>(F) { map<T>(context_, y, PairValue<F>{}, a, b); });
    const PackWalk walk = walk_packs<T>(y, {a, b});
    write<T>(context_, y, walk, PairValues<T>{operand_packs<T>(a, y, walk), operand_packs<T>(b, y, walk), function});
  });
}

void CudaKernels::binary_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                  const Tensor& b, PairFunction function) {
  dispatch_data_type(dy, [&]<class T>(T) {
    const bool linear = function == PairFunction::add || function == PairFunction::subtract;
    const PackWalk walk = walk_packs<T>(dy, {a, b});
    const auto operand = [&](const Tensor& t) { return operand_packs<T>(linear ? Tensor() : t, dy, walk); };
    for (const bool second : {false, true}) {
      const Tensor& to = second ? db : da;
      if (!to) continue;
      sum_to<T>(context_, to, dy, walk,
                PairGradients<T>{operand_packs<T>(dy, dy, walk), operand(a), operand(b), function, second});
    }
  });
}

// ---- Choice ---------------------------------------------------------------------------------------------------------

void CudaKernels::where(const Tensor& y, const Tensor& mask, const Tensor& a, const Tensor& b) {
  if (y.size() == 0) return;
  dispatch_data_type(y, [&]<class T>(T) {
    const PackWalk walk = walk_packs<T>(y, {mask, a, b});
    write<T>(context_, y, walk,
             ChosenPacks<T>{operand_packs<T>(a, y, walk), operand_packs<T>(b, y, walk),
                            mask_packs(context_.ids(mask), mask, y, walk)});
  });
}

void CudaKernels::where_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& mask) {
  dispatch_data_type(dy, [&]<class T>(T) {
    const PackWalk walk = walk_packs<T>(dy, {mask, da, db});
    for (const bool second : {false, true}) {
      const Tensor& to = second ? db : da;
      if (!to) continue;
      const auto slopes = operand_packs<T>(dy, dy, walk), zeros = operand_packs<T>({}, dy, walk);
      const MaskPacks masks = mask_packs(dy.size() > 0 ? context_.ids(mask) : nullptr, mask, dy, walk);
      sum_to<T>(context_, to, dy, walk, ChosenPacks<T>{second ? zeros : slopes, second ? slopes : zeros, masks});
    }
  });
}

// ---- Sums and maxima -----------------------------------------------------------------------------------------------

void CudaKernels::sum(const Tensor& y, const Tensor& x, double factor) {
  if (x.size() == 0) return y.zero();
  dispatch_data_type(x, [&]<class T>(T) {
    const PackWalk walk = walk_packs<T>(x, {y});
    sum_to<T>(context_, y, x, walk, ScaledPacks<T>{operand_packs<T>(x, x, walk), Compute<T>(factor)});
  });
}

namespace {

template <class C>
__device__ C warp_largest(C x) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = LargerOfPair::value(x, __shfl_xor_sync(0xFFFFFFFF, x, step));
  return x;
}

// A warp per row.
template <class T>
__global__ void largest_of_rows(T* y, const T* x, int64_t rows, int64_t columns) {
  const int64_t row = row_of_team();
  if (row >= rows) return;
  const T* from = x + row * columns;
  Compute<T> largest = load(from);
  for (int64_t j = threadIdx.x; j < columns; j += kWarp) largest = LargerOfPair::value(largest, load(from + j));
  largest = warp_largest(largest);
  if (threadIdx.x == 0) store(y + row, largest);
}

template <class T>
__global__ void largest_of_rows_backward(T* dx, const T* dy, const T* x, const T* y, int64_t rows, int64_t columns) {
  using C = Compute<T>;
  const int64_t row = row_of_team();
  if (row >= rows) return;
  const T* from = x + row * columns;
  const C largest = load(y + row);
  C ties = 0;
  for (int64_t j = threadIdx.x; j < columns; j += kWarp) ties += load(from + j) == largest ? C(1) : C(0);
  const C share = load(dy + row) / warp_sum(ties);
  for (int64_t j = threadIdx.x; j < columns; j += kWarp)
    store(dx + row * columns + j, share * (load(from + j) == largest ? C(1) : C(0)));
}

constexpr int kRowWarps = kRowThreads / kWarp;

// dx = dy - exp(y) sum(dy)
template <class T>
__global__ void log_softmax_backward_kernel(T* dx, const T* dy, const T* y, int64_t rows, int64_t columns) {
  using C = Compute<T>;
  __shared__ C scratch[kWarp];
  const int64_t row = row_of_team();
  if (row >= rows) return;
  const T *slopes = dy + row * columns, *values = y + row * columns;
  C sum = 0;
  for (int64_t j = threadIdx.x; j < columns; j += blockDim.x) sum += load(slopes + j);
  sum = team_sum(sum, scratch);
  for (int64_t j = threadIdx.x; j < columns; j += blockDim.x)
    store(dx + row * columns + j, load(slopes + j) - exponential(load(values + j)) * sum);
}

}  // namespace

void CudaKernels::largest(const Tensor& y, const Tensor& x) {
  dispatch_data_type(x, [&]<class T>(T) {
    launch(largest_of_rows<T>, dim3(unsigned(divide_up(x.rows(), kRowWarps))), dim3(kWarp, kRowWarps), 0,
           context_.stream(), y.data<T>(), x.data<T>(), x.rows(), x.cols());
  });
}

void CudaKernels::largest_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, const Tensor& y) {
  dispatch_data_type(x, [&]<class T>(T) {
    launch(largest_of_rows_backward<T>, dim3(unsigned(divide_up(x.rows(), kRowWarps))), dim3(kWarp, kRowWarps), 0,
           context_.stream(), dx.data<T>(), dy.data<T>(), x.data<T>(), y.data<T>(), x.rows(), x.cols());
  });
}

void CudaKernels::log_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y) {
  dispatch_data_type(y, [&]<class T>(T) {
    launch(log_softmax_backward_kernel<T>, team_blocks(y.rows(), y.cols()), team_threads(y.cols()), 0,
           context_.stream(), dx.data<T>(), dy.data<T>(), y.data<T>(), y.rows(), y.cols());
  });
}

// ---- Moves of elements ---------------------------------------------------------------------------------------------

namespace {

constexpr int kTile = 32, kTransposeRows = 8;

// A grid has at most 65535 blocks along y, and a matrix may have more columns of tiles.
constexpr int64_t kMostBlocksAlongY = 65535;

template <class Word>
__global__ void transpose_kernel(Word* to, const Word* from, int64_t n, int64_t d) {
  __shared__ Word tile[kTile][kTile + 1];
  const int64_t row = int64_t(blockIdx.x) * kTile;
  for (int64_t column = int64_t(blockIdx.y) * kTile; column < d; column += int64_t(gridDim.y) * kTile) {
    for (int i = int(threadIdx.y); i < kTile; i += kTransposeRows) {
      if (row + i < n && column + threadIdx.x < d) tile[i][threadIdx.x] = from[(row + i) * d + column + threadIdx.x];
    }
    __syncthreads();
    for (int j = int(threadIdx.y); j < kTile; j += kTransposeRows) {
      if (column + j < d && row + threadIdx.x < n) to[(column + j) * n + row + threadIdx.x] = tile[threadIdx.x][j];
    }
    __syncthreads();  // the tile has been read
  }
}

template <class T>
__global__ void copy_columns_kernel(T* to, int64_t stride, OperandPacks<T> from, bool aligned, bool add,
                                    ColumnWalk walk) {
  const int64_t column = own_column<T>();
  const int count = count_in_pack<T>(column, walk.columns);
  if (count == 0) return;
  for_own_rows(walk, [&](int64_t row) {
    Compute<T> numbers[kPackSize<T>], before[kPackSize<T>];
    from.load(numbers, row, column, count);
    T* place = to + row * stride + column;
    if (add) {
      load_numbers(before, place, count, aligned);
#pragma unroll
      for (int i = 0; i < kPackSize<T>; ++i) numbers[i] += before[i];
    }
    store_numbers(place, numbers, count, aligned);
  });
}

}  // namespace

void CudaKernels::transpose(const Tensor& y, const Tensor& x) {
  const int64_t n = y.cols(), d = x.cols();
  if (x.size() == 0) return;
  const auto with = [&]<class Word>(Word) {
    const int64_t down = std::min(kMostBlocksAlongY, divide_up(d, int64_t{kTile}));
    launch(transpose_kernel<Word>, dim3(unsigned(divide_up(n, int64_t{kTile})), unsigned(down)),
           dim3(kTile, kTransposeRows), 0, context_.stream(), static_cast<Word*>(y.raw()),
           static_cast<const Word*>(x.raw()), n, d);
  };
  const size_t bytes = dtype_bytes(x.dtype());
  bytes == 2 ? with(uint16_t{}) : bytes == 4 ? with(uint32_t{}) : with(uint64_t{});
}

void CudaKernels::copy_columns(const Tensor& y, int64_t y_first, const Tensor& x, int64_t x_first, int64_t count,
                               bool add) {
  const auto with = [&]<class T, class S>(T, S) {
    T* to = y.data<T>() + y_first;
    const S* source = x.data<S>() + x_first;
    const bool aligned = is_aligned(source) && x.cols() % kPackSize<T> == 0;
    const OperandPacks<T> from{source, x.cols(), true, !std::is_same_v<T, S>, aligned};
    const ColumnWalk walk = walk_columns<T>(y.rows(), count);
    launch(copy_columns_kernel<T>, walk.grid, walk.block, 0, context_.stream(), to, y.cols(), from,
           has_aligned_rows(to, y.cols()), add, walk);
  };
  dispatch_data_type(y, [&]<class T>(T) {
    if (x.dtype() == y.dtype()) return with(T{}, T{});
    if (x.dtype() == dtype_of<Compute<T>>()) return with(T{}, Compute<T>{});
    // The gradient of an f32 part of bf16 data.
    require(x.dtype() == DType::bf16 && y.dtype() == DType::f32 && !add && y.cols() == count,
            "[copy_columns] cannot copy ", x.dtype(), " to ", y.dtype());
    const Tensor part = context_.empty({y.rows(), count}, DType::bf16);
    copy_columns(part, 0, x, x_first, count, false);
    convert(y, part);
  });
}

}  // namespace gyre::cuda
