// Linear-attention scan: out_i = sum of (q_i . k_j) v_j over the rows j of the segment up to i, from i on, or all. Time
// and memory are linear in the length. A block processes 32 columns of one head of one segment, with the rows in chunks
// of 32, in the direction of the scan. Shared memory holds the state S(features, columns) = sum k_j v_j^T of the
// preceding chunks:
//   out = Q S + (Q K^T, masked) V;   S += K^T V
// Q and K are loaded into shared memory 32 features at a time.
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

constexpr int kSide = 32, kWarps = 8, kOwn = kSide / kWarps;  // side of a square tile; kOwn: rows of it per warp
constexpr int64_t kMaxFeatures = 1024;                        // limited by the state in shared memory

// One of the operands q, k, v: f32 or bf16 rows with fp32 arithmetic, or f64. Null stands for ones: one feature per
// head.
template <class T>
struct Operand {
  const void* data;
  bool is_bf16;
  int64_t stride;
  int width;  // columns per head

  Operand(const Tensor& rows, int heads)
      : data(rows ? rows.raw() : nullptr),
        is_bf16(rows && rows.dtype() == DType::bf16),
        stride(rows ? rows.cols() : 0),
        width(rows ? int(rows.cols() / heads) : 1) {
    const bool fits = !rows || rows.dtype() == dtype_of<T>() || (is_bf16 && dtype_of<T>() == DType::f32);
    require(fits, "[linear_attention_scan] expected rows that go with ", dtype_of<T>(), ", got ",
            rows ? to_string(rows.dtype()) : "");
  }

  __device__ T at(int64_t row, int head, int f) const {
    if (!data) return T(1);
    const int64_t i = row * stride + int64_t(head) * width + f;
    if (is_bf16) return T(load(static_cast<const bfloat16*>(data) + i));
    return static_cast<const T*>(data)[i];
  }
};

template <class T>
struct Scan {
  void* out;
  bool out_is_bf16;
  Operand<T> q, k, v;
  const int32_t* offsets;  // offsets of the segments
  int heads, slices;       // slices: blocks of kSide columns per head
  ScanDirection direction;

  __device__ void store_out(int64_t row, int head, int f, T x) const {
    const int64_t i = (row * heads + head) * v.width + f;
    if (out_is_bf16) {
      store(static_cast<bfloat16*>(out) + i, float(x));
    } else {
      static_cast<T*>(out)[i] = x;
    }
  }
};

template <class T>
struct SquareTile {
  T rows[kSide][kSide + 1];  // padded, so that the rows of a column are in different banks
};

// The scan of one block of threads.
template <class T>
struct BlockScan {
  const Scan<T>& a;
  T* state;  // (features, kSide)
  SquareTile<T>&q, &k, &v, &scores;
  int head, slice, first, length;  // first row and length of the segment
  int lane, warp;

  __device__ int column() const { return slice * kSide + lane; }
  __device__ T& state_at(int f) const { return state[f * kSide + lane]; }

  // Loads rows begin .. begin + n - 1 of the segment, columns from f on, padded with zeros.
  __device__ void load_tile(SquareTile<T>& to, const Operand<T>& from, int begin, int n, int f) const {
    for (int i = warp; i < kSide; i += kWarps)
      to.rows[i][lane] = i < n && f + lane < from.width ? from.at(int64_t(first) + begin + i, head, f + lane) : T(0);
  }

  // S += K^T V for 32 features.
  __device__ void add_to_state(int f) const {
    for (int r = warp; r < kSide && f + r < a.k.width; r += kWarps) {
      T sum = 0;
      for (int i = 0; i < kSide; ++i) sum += k.rows[i][r] * v.rows[i][lane];
      state_at(f + r) += sum;
    }
  }

  // sums[r] += (Q S) for 32 features.
  __device__ void add_from_state(T (&sums)[kOwn], int f) const {
    const int features = min(kSide, a.q.width - f);
    for (int r = 0; r < kOwn; ++r)
      for (int g = 0; g < features; ++g) sums[r] += q.rows[warp + r * kWarps][g] * state_at(f + g);
  }

  __device__ void add_scores(T (&sums)[kOwn]) const {
    for (int r = 0; r < kOwn; ++r)
      for (int g = 0; g < kSide; ++g) sums[r] += q.rows[warp + r * kWarps][g] * k.rows[lane][g];
  }

  __device__ void store_rows(const T (&sums)[kOwn], int begin, int n) const {
    if (column() >= a.v.width) return;
    for (int r = 0; r < kOwn; ++r) {
      const int i = warp + r * kWarps;
      if (i < n) a.store_out(int64_t(first) + begin + i, head, column(), sums[r]);
    }
  }

  __device__ void add_chunk(int begin, int n) const {
    for (int f = 0; f < a.k.width; f += kSide) {
      __syncthreads();  // the tiles have been read
      if (f == 0) load_tile(v, a.v, begin, n, slice * kSide);
      load_tile(k, a.k, begin, n, f);
      __syncthreads();
      add_to_state(f);
    }
  }

  __device__ void read_chunk(int begin, int n) const {
    T sums[kOwn] = {};
    for (int f = 0; f < a.q.width; f += kSide) {
      __syncthreads();
      load_tile(q, a.q, begin, n, f);
      __syncthreads();
      add_from_state(sums, f);
    }
    store_rows(sums, begin, n);
  }

  __device__ void scan_chunk(int begin, int n, bool upwards) const {
    T sums[kOwn] = {}, products[kOwn] = {};
    for (int f = 0; f < a.q.width; f += kSide) {
      __syncthreads();
      if (f == 0) load_tile(v, a.v, begin, n, slice * kSide);
      load_tile(q, a.q, begin, n, f);
      load_tile(k, a.k, begin, n, f);
      __syncthreads();
      add_scores(products);
      add_from_state(sums, f);
      __syncthreads();  // the old state has been read
      add_to_state(f);
    }
    for (int r = 0; r < kOwn; ++r) {
      const int i = warp + r * kWarps;
      scores.rows[i][lane] = (upwards ? lane <= i : lane >= i) ? products[r] : T(0);
    }
    __syncthreads();
    for (int r = 0; r < kOwn; ++r)
      for (int j = 0; j < kSide; ++j) sums[r] += scores.rows[warp + r * kWarps][j] * v.rows[j][lane];
    store_rows(sums, begin, n);
  }

  __device__ void run() const {
    for (int f = warp; f < a.k.width; f += kWarps) state_at(f) = 0;
    __syncthreads();
    const int chunks = (length + kSide - 1) / kSide;
    if (a.direction == ScanDirection::all) {
      for (int c = 0; c < chunks; ++c) add_chunk(c * kSide, min(kSide, length - c * kSide));
      for (int c = 0; c < chunks; ++c) read_chunk(c * kSide, min(kSide, length - c * kSide));
      return;
    }
    const bool upwards = a.direction == ScanDirection::before;
    for (int c = 0; c < chunks; ++c) {
      const int begin = (upwards ? c : chunks - 1 - c) * kSide;
      scan_chunk(begin, min(kSide, length - begin), upwards);
    }
  }
};

// One block per slice of the width, head and segment.
template <class T>
__global__ void scan_kernel(Scan<T> a) {
  __shared__ SquareTile<T> q, k, v, scores;
  const int job = int(blockIdx.x) / a.slices, segment = job / a.heads;
  const int first = a.offsets[segment];
  BlockScan<T>{a,
               shared_memory<T>(),
               q,
               k,
               v,
               scores,
               job % a.heads,
               int(blockIdx.x) % a.slices,
               first,
               a.offsets[segment + 1] - first,
               int(threadIdx.x),
               int(threadIdx.y)}
      .run();
}

}  // namespace

void CudaKernels::linear_attention_scan(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                        const Segments& segments, int heads, ScanDirection direction) {
  const auto run_as = [&]<class T>(T) {
    const int width = int(out.cols() / heads), slices = int(divide_up(width, kSide));
    const Scan<T> a{out.raw(),  out.dtype() == DType::bf16, {q, heads}, {k, heads},
                    {v, heads}, context_.offsets(segments), heads,      slices,
                    direction};
    require(a.q.width <= kMaxFeatures, "[linear_attention_scan] expected heads of at most ", kMaxFeatures,
            " features on a GPU, got ", a.q.width);
    launch(scan_kernel<T>, dim3(unsigned(segments.count() * heads * slices)), dim3(kSide, kWarps),
           size_t(a.q.width) * kSide * sizeof(T), context_.stream(), a);
  };
  if (out.dtype() == DType::f64) {
    run_as(double{});
  } else {
    run_as(float{});
  }
}

}  // namespace gyre::cuda
