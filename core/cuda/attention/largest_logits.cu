// The largest logits of attention: those of each tile of queries, then the largest of all tiles of a head.
#include <algorithm>
#include <limits>

#include "gyre/core/cuda/attention/plain_position_terms.h"
#include "gyre/core/cuda/cuda_kernels.h"

namespace gyre::cuda {
namespace {

template <class D>
struct Logits {
  using T = Compute<D>;
  Rows<D> q, k;
  RowRotation<T> query_rotation, key_rotation;
  Scoring<T> scoring;
};

// found(tiles, heads) = the largest product of a query of the tile and a key that it sees; -infinity if there is none.
template <class D, class Mask>
__global__ __launch_bounds__(kPlainThreads) void largest_of_tiles(Compute<D>* found, const Logits<D> a,
                                                                  const AttentionWork* work, const Mask mask) {
  using T = Compute<D>;
  constexpr int tile = kPlainTile<T>;
  __shared__ T scratch[kWarp];
  const Scoring<T>& s = a.scoring;
  const auto [w, head, count, first, feature] = BlockWork(work, s.heads, s.width, tile);
  const int warp = int(threadIdx.x) / kWarp, lane = int(threadIdx.x) % kWarp;
  const auto q = plain_tile<T>(0, s.width), k = plain_tile<T>(1, s.width);
  load_plain(q, a.q, feature, first, count, s.width, a.query_rotation);
  T largest = -std::numeric_limits<T>::infinity();
  const TilePair<T> pair{nullptr, head, s.width, w.count, w.count_other, w.begin};
  const int seen = mask.end_key(s, pair, w.begin + count - 1);
  for (int j0 = mask.first_key(s, pair, w.begin); j0 < seen; j0 += tile) {
    const int keys = min(tile, seen - j0);
    __syncthreads();  // the previous keys have been read
    load_plain(k, a.k, s.key_feature(head), int64_t(w.first_other) + j0, keys, s.width, a.key_rotation);
    __syncthreads();
    T products[kOwnRows<T>];
    plain_scores(products, q, k);
    for (int r = 0; r < kOwnRows<T>; ++r) {
      const int i = w.begin + warp + kPlainWarps * r;
      const bool visible = lane < keys && i < w.count && mask.sees(s, pair, i, j0 + lane);
      if (visible && products[r] > largest) largest = products[r];
    }
  }
  largest = block_max(largest, scratch);
  if (threadIdx.x == 0) found[blockIdx.x] = largest;
}

// One block per head.
constexpr int kHeadThreads = 128;
template <class T>
__global__ void largest_of_heads(double* largest, const T* found, int64_t tiles, double scale) {
  __shared__ T scratch[kWarp];
  T all = -std::numeric_limits<T>::infinity();
  for (int64_t i = threadIdx.x; i < tiles; i += kHeadThreads) {
    const T x = found[i * gridDim.x + blockIdx.x];
    all = x > all ? x : all;
  }
  const double logit = scale * double(block_max(all, scratch));
  if (threadIdx.x == 0 && logit > largest[blockIdx.x]) largest[blockIdx.x] = logit;
}

template <class Mask, class D>
void find_in_tiles(Context& context, const Tensor& found, const Logits<D>& a, const WorkList& work,
                   const DevicePositionTerms<Compute<D>>& window) {
  using T = Compute<D>;
  launch(largest_of_tiles<D, Mask>, dim3(unsigned(work.count * a.scoring.heads)), dim3(kPlainThreads),
         plain_bytes<T>(2, a.scoring.width), context.stream(), found.data<T>(), a, work.items, Mask(window));
}

}  // namespace

void CudaKernels::largest_logits(const Tensor& largest, const HeadColumns& q, const HeadColumns& k,
                                 const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                 int64_t width, const AttentionRotation& rotation) {
  dispatch_data_type(q.rows, [&](auto type) {
    using D = decltype(type);
    using T = Compute<D>;
    const DevicePositionTerms<T> window({}, shape, width, std::max(queries.longest(), keys.longest()));
    const Logits<D> a{rows_of<D>(q), rows_of<D>(k), make_row_rotation<T>(context_, rotation, rotation.query_positions),
                      make_row_rotation<T>(context_, rotation, rotation.key_positions),
                      Scoring<T>(shape, width, k.rows.rows(), queries.longest())};
    const WorkList work = attention_work(context_, queries, keys, kPlainTile<T>, SegmentFilter::all);
    const Tensor found = context_.empty({work.count, int64_t(shape.heads)}, statistics_dtype(q.rows.dtype()));
    if (window) {
      find_in_tiles<PlainTerms<T, PairAxis::query>>(context_, found, a, work, window);
    } else {
      find_in_tiles<NoTerms<T, PairAxis::query>>(context_, found, a, work, window);
    }
    if (work.count == 0) return;
    launch(largest_of_heads<T>, dim3(unsigned(shape.heads)), dim3(kHeadThreads), 0, context_.stream(),
           largest.data<double>(), found.data<T>(), work.count, shape.scale);
  });
}

}  // namespace gyre::cuda
