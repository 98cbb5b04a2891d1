#include <algorithm>
#include <bit>
#include <map>
#include <thread>

#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/gemm/row_passes.h"

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

// The largest power of two up to 256 that divides the address; 256 for an undefined tensor.
uint32_t alignment(const Tensor& t) {
  return 1U << std::min(std::countr_zero(reinterpret_cast<uintptr_t>(t.raw())), 8);
}

constexpr size_t kMostKept = 8192;  // chosen algorithms

int64_t rounded_up(int64_t rows) {
  constexpr int64_t kStep = 256;
  return rows < kStep ? int64_t(std::bit_ceil(uint64_t(rows))) : (rows + kStep - 1) / kStep * kStep;
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

}  // namespace

// The heuristic derives the alignment of the bias from its pointer.
Matmul::Matmul(const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options)
    : c_(c), a_(a), b_(b), options_(options), sizes_{a.free_size(), b.free_size(), a.summed_size()} {
  const DType type = a.tensor.dtype();
  const cudaDataType_t scale = type == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
  check(cublasLtMatmulDescInit(&description_, compute_type(type, options.tf32), scale), "cublasLtMatmulDescInit");
  set(description_, CUBLASLT_MATMUL_DESC_TRANSA, int32_t(b.summed_over_rows ? CUBLAS_OP_N : CUBLAS_OP_T));
  set(description_, CUBLASLT_MATMUL_DESC_TRANSB, int32_t(a.summed_over_rows ? CUBLAS_OP_T : CUBLAS_OP_N));
  if (!options.bias) return;
  const auto epilogue = options.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  set(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(options.bias.raw()));
}

Matmul::Key Matmul::key(const ProductSizes& sizes) const {
  return {sizes.m,
          sizes.n,
          sizes.k,
          a_.tensor.cols(),
          b_.tensor.cols(),
          c_.cols(),
          a_.summed_over_rows,
          b_.summed_over_rows,
          int64_t(a_.tensor.dtype()),
          int64_t(c_.dtype()),
          options_.tf32 + 2 * bool(options_.bias) + 4 * options_.relu,
          alignment(a_.tensor),
          alignment(b_.tensor),
          alignment(c_),
          alignment(added()),
          alignment(options_.bias)};
}

ProductSizes Matmul::rounded_sizes() const {
  ProductSizes rounded = sizes_;
  if (!a_.summed_over_rows) {
    rounded.m = rounded_up(sizes_.m);
  } else if (b_.summed_over_rows) {
    rounded.k = rounded_up(sizes_.k);
  }
  return rounded;
}

Matmul::Layouts Matmul::layouts(const ProductSizes& s) const {
  const auto layout = [](const Tensor& t, int64_t rows, int64_t columns) {
    cublasLtMatrixLayoutOpaque_t layout;
    check(cublasLtMatrixLayoutInit(&layout, library_type(t.dtype()), uint64_t(columns), uint64_t(rows), t.cols()),
          "cublasLtMatrixLayoutInit");
    return layout;
  };
  const auto operand = [&](const Operand& o, int64_t free) {
    return o.summed_over_rows ? layout(o.tensor, s.k, free) : layout(o.tensor, free, s.k);
  };
  return {operand(b_, s.n), operand(a_, s.m), layout(c_, s.m, s.n)};
}

std::optional<cublasLtMatmulAlgo_t> Matmul::choose(const Context& context, const ProductSizes& sizes) {
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{Context::kWorkspace});
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(b_.tensor));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(a_.tensor));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(added()));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(c_));
  Layouts of = layouts(sizes);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(context.cublas(), &description_, &of.first, &of.second,
                                                               &of.c, &of.c, &preference, 1, &result, &found);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (status != CUBLAS_STATUS_SUCCESS || found == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
  return result.algo;
}

bool Matmul::accepts(const Context& context, const cublasLtMatmulAlgo_t& algorithm) {
  Layouts of = layouts(sizes_);
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(context.cublas(), &description_, &of.first, &of.second, &of.c,
                                                        &of.c, &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= Context::kWorkspace;
}

void Matmul::run(const Context& context, const cublasLtMatmulAlgo_t& algorithm) {
  const auto multiply = [&]<class S>(S) {
    const S alpha = 1, beta = options_.add ? S(1) : S(0);
    Layouts of = layouts(sizes_);
    check(cublasLtMatmul(context.cublas(), &description_, &alpha, b_.tensor.raw(), &of.first, a_.tensor.raw(),
                         &of.second, &beta, added().raw(), &of.c, c_.raw(), &of.c, &algorithm, context.workspace(),
                         Context::kWorkspace, context.stream()),
          "cublasLtMatmul");
  };
  if (a_.tensor.dtype() == DType::f64) return multiply(double{});
  multiply(float{});
}

// The cache is cleared when it is full, since it has an entry for every size. The process has only one GPU, whose
// products one thread queues: calls of two would corrupt the cache.
std::optional<cublasLtMatmulAlgo_t> algorithm_for(const Context& context, Matmul& call) {
  using Algorithm = std::optional<cublasLtMatmulAlgo_t>;
  static std::map<Matmul::Key, Algorithm> by_rounded_sizes, by_sizes;
  static const std::thread::id queuing = std::this_thread::get_id();
  require(std::this_thread::get_id() == queuing, "[cuda product] expected calls of one thread, got those of two");
  const auto kept = [](auto& cache, const Matmul::Key& key, const auto& choose) -> Algorithm {
    if (const auto found = cache.find(key); found != cache.end()) return found->second;
    if (cache.size() >= kMostKept) cache.clear();
    return cache.emplace(key, choose()).first->second;
  };
  return kept(by_sizes, call.key(call.sizes()), [&] {
    const ProductSizes rounded = call.rounded_sizes();
    const Algorithm algorithm =
        kept(by_rounded_sizes, call.key(rounded), [&] { return call.choose(context, rounded); });
    return algorithm && call.accepts(context, *algorithm) ? algorithm : call.choose(context, call.sizes());
  });
}

namespace {

void check_arguments(const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options) {
  const int64_t m = c.rows(), n = b.free_size(), k = a.summed_size();
  const DType type = a.tensor.dtype();
  require(b.tensor.dtype() == type && (c.dtype() == type || (type == DType::bf16 && c.dtype() == DType::f32)),
          "[cuda product] cannot multiply ", type, " by ", b.tensor.dtype(), " into ", c.dtype());
  require(a.free_size() == m && c.cols() >= n && b.summed_size() == k, "[cuda product] expected (", m, ", ", k, ") x (",
          k, ", up to ", c.cols(), "), got (", a.free_size(), ", ", k, ") x (", b.summed_size(), ", ", n, ")");
  require(!options.bias || (options.bias.size() == n && options.bias.dtype() == c.dtype()),
          "[cuda product] expected a bias of ", n, " ", c.dtype(), ", got ", options.bias.size(), " ",
          options.bias.dtype());
  require(!options.add || (options.add.shape() == c.shape() && options.add.dtype() == c.dtype()),
          "[cuda product] expected to add ", c.dtype(), " ", c.shape(), ", got ", options.add.dtype(), " ",
          options.add.shape());
}

}  // namespace

void product(Context& context, const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options) {
  if (c.size() == 0) return;
  check_arguments(c, a, b, options);
  if (a.summed_size() == 0) {
    if (!options.add) {
      c.zero();
    } else if (options.add.raw() != c.raw()) {
      c.copy_from(options.add);
    }
    if (options.bias) add_bias(context, c, options.bias, options.relu);
    return;
  }
  Matmul call(c, a, b, options);
  if (const auto algorithm = algorithm_for(context, call)) return call.run(context, *algorithm);
  require(options.bias.defined(), "[cuda] cublasLt has no product of ", a.tensor.dtype(), " ", a.tensor.shape(),
          " and ", b.tensor.shape(), " to ", c.dtype(), " ", c.shape());
  product(context, c, a, b, {.add = options.add, .tf32 = options.tf32});
  add_bias(context, c, options.bias, options.relu);
}

}  // namespace gyre::cuda
