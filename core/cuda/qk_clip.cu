// QK-clip: scales the rows of the projections to queries and keys by head.
#include "gyre/core/cuda/cuda_kernels.h"
#include "gyre/core/cuda/numbers.h"

namespace gyre::cuda {
namespace {

// The largest logits of the heads: the maxima of the parts.
struct LargestLogits {
  const double* largest;  // (parts, heads)
  int64_t parts;
  ClippedHeads clip;

  __device__ int group() const { return clip.heads / clip.key_heads; }
  __device__ double of(int head) const {
    double most = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const double x = largest[part * clip.heads + head];
      most = x > most ? x : most;
    }
    return most;
  }
  __device__ double key_factor(int key_head) const {
    double factor = 1;
    for (int h = key_head * group(); h < (key_head + 1) * group(); ++h) {
      const double logit = of(h), root = logit > clip.limit ? sqrt(clip.limit / logit) : 1;
      factor = root < factor ? root : factor;
    }
    return factor;
  }
  __device__ double query_factor(int head) const {
    const double left = of(head) * key_factor(head / group());
    return left > clip.limit ? clip.limit / left : 1;
  }
};

// One block per row.
constexpr int kThreads = 128;
template <class T>
__global__ void clip_kernel(T* x, int64_t d, const LargestLogits logits, const double* verdict) {
  __shared__ T factor;
  if (verdict[kAccepted] == 0) return;
  if (threadIdx.x == 0) {
    const int head = int(int64_t(blockIdx.x) / logits.clip.width), heads = logits.clip.heads;
    factor = T(head < heads ? logits.query_factor(head) : logits.key_factor(head - heads));
  }
  __syncthreads();
  if (factor == 1) return;
  T* const row = x + int64_t(blockIdx.x) * d;
  for (int64_t i = threadIdx.x; i < d; i += kThreads) row[i] *= factor;
}

}  // namespace

void CudaKernels::clip_heads(const Tensor& x, const Tensor& largest, const Tensor& verdict, const ClippedHeads& clip) {
  const LargestLogits logits{largest.data<double>(), largest.rows(), clip};
  dispatch_float(x, [&]<class T>(T) {
    launch(clip_kernel<T>, dim3(unsigned((clip.heads + clip.key_heads) * clip.width)), dim3(kThreads), 0,
           context_.stream(), x.data<T>(), x.cols(), logits, verdict.data<double>());
  });
}

}  // namespace gyre::cuda
