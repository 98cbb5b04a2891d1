// cublasLt is column-major: it reads each tensor as its transpose, and therefore computes C^T = B^T A^T.
#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "gyre/core/cuda/gemm/product.h"

namespace gyre::cuda {
namespace {

cudaDataType_t library_type(DType dtype) {
  require(dtype != DType::i32, "[cuda product] expected f32, bf16 or f64, got i32");
  return dtype == DType::f64 ? CUDA_R_64F : dtype == DType::f32 ? CUDA_R_32F : CUDA_R_16BF;
}

cublasComputeType_t compute_type(DType dtype, bool tf32) {
  if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  return dtype == DType::f32 && tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// The largest power of two up to 256 that divides the address.
uint32_t alignment(const Tensor& t) {
  return 1U << std::min(std::countr_zero(reinterpret_cast<uintptr_t>(t.raw())), 8);
}

cublasLtMatrixLayoutOpaque_t layout_of(const Tensor& t) {
  cublasLtMatrixLayoutOpaque_t layout;
  check(cublasLtMatrixLayoutInit(&layout, library_type(t.dtype()), uint64_t(t.cols()), uint64_t(t.rows()), t.cols()),
        "cublasLtMatrixLayoutInit");
  return layout;
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t which, T value) {
  check(cublasLtMatmulDescSetAttribute(&description, which, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t which, T value) {
  check(cublasLtMatmulPreferenceSetAttribute(&preference, which, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

// Arguments of one call of cublasLt: c = first * second, in its column-major view.
struct Call {
  Tensor first, second, c;
  cublasLtMatmulDescOpaque_t description;
  cublasLtMatrixLayoutOpaque_t first_layout, second_layout, c_layout;

  Call(const Tensor& to, const Operand& a, const Operand& b, const ProductOptions& options)
      : first(b.tensor),
        second(a.tensor),
        c(to),
        first_layout(layout_of(first)),
        second_layout(layout_of(second)),
        c_layout(layout_of(c)) {
    const DType type = first.dtype();
    const cudaDataType_t scale = type == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
    check(cublasLtMatmulDescInit(&description, compute_type(type, options.tf32), scale), "cublasLtMatmulDescInit");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, int32_t(b.summed_over_rows ? CUBLAS_OP_N : CUBLAS_OP_T));
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, int32_t(a.summed_over_rows ? CUBLAS_OP_T : CUBLAS_OP_N));
    if (!options.bias) return;
    const auto epilogue = options.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(options.bias.raw()));
  }

  // The first choice of the library's heuristic, among the algorithms that sum in fp32 in a fixed order.
  cublasLtMatmulAlgo_t choose(const Context& context) {
    cublasLtMatmulPreferenceOpaque_t preference;
    check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{Context::kWorkspace});
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(first));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(second));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(c));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(c));
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(context.cublas(), &description, &first_layout, &second_layout, &c_layout,
                                       &c_layout, &preference, 1, &result, &found);
    require(status == CUBLAS_STATUS_SUCCESS && found == 1 && result.state == CUBLAS_STATUS_SUCCESS,
            "[cuda] cublasLt has no product of ", dtype_name(first.dtype()), " ", second.shape().text(), " and ",
            first.shape().text(), " to ", dtype_name(c.dtype()), " ", c.shape().text(), ": ",
            cublasLtGetStatusString(status));
    return result.algo;
  }

  template <class S>
  void run(const Context& context, const cublasLtMatmulAlgo_t& algorithm, bool accumulate) {
    const S alpha = 1, beta = accumulate ? S(1) : S(0);
    check(cublasLtMatmul(context.cublas(), &description, &alpha, first.raw(), &first_layout, second.raw(),
                         &second_layout, &beta, c.raw(), &c_layout, c.raw(), &c_layout, &algorithm, context.workspace(),
                         Context::kWorkspace, context.stream()),
          "cublasLtMatmul");
  }
};

// All arguments that the choice of the algorithm depends on.
using Key = std::array<int64_t, 11>;

// Cache of chosen algorithms, because the choice takes longer than queueing the product. A full cache is cleared: the
// numbers of rows vary from batch to batch. The process has only one GPU.
cublasLtMatmulAlgo_t& algorithm_of(const Key& key, const Context& context, Call& call) {
  constexpr size_t kMost = 8192;
  static std::map<Key, cublasLtMatmulAlgo_t> cache;
  auto found = cache.find(key);
  if (found == cache.end()) {
    if (cache.size() >= kMost) cache.clear();
    found = cache.emplace(key, call.choose(context)).first;
  }
  return found->second;
}

}  // namespace

void product(const Context& context, const Tensor& c, const Operand& a, const Operand& b,
             const ProductOptions& options) {
  if (c.size() == 0) return;
  const int64_t m = c.rows(), n = c.cols(), k = a.summed_size();
  if (k == 0) {
    if (!options.accumulate) c.zero();
    return;
  }
  const DType type = a.tensor.dtype();
  require(b.tensor.dtype() == type && (c.dtype() == type || (type == DType::bf16 && c.dtype() == DType::f32)),
          "[cuda product] cannot multiply ", dtype_name(type), " by ", dtype_name(b.tensor.dtype()), " into ",
          dtype_name(c.dtype()));
  require(a.free_size() == m && b.free_size() == n && b.summed_size() == k, "[cuda product] expected (", m, ", ", k,
          ") x (", k, ", ", n, "), got (", a.free_size(), ", ", k, ") x (", b.summed_size(), ", ", b.free_size(), ")");
  require(!options.bias || (options.bias.size() == n && options.bias.dtype() == c.dtype()),
          "[cuda product] expected a bias of ", n, " ", dtype_name(c.dtype()), ", got ", options.bias.size(), " ",
          dtype_name(options.bias.dtype()));
  Call call(c, a, b, options);
  const Key key{m,
                n,
                k,
                a.summed_over_rows,
                b.summed_over_rows,
                int64_t(type),
                int64_t(c.dtype()),
                options.tf32 + 2 * options.accumulate + 4 * bool(options.bias) + 8 * options.relu,
                alignment(a.tensor),
                alignment(b.tensor),
                alignment(c)};
  const cublasLtMatmulAlgo_t& algorithm = algorithm_of(key, context, call);
  if (type == DType::f64) return call.run<double>(context, algorithm, options.accumulate);
  call.run<float>(context, algorithm, options.accumulate);
}

}  // namespace gyre::cuda
