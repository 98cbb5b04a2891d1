// The functions of include/cublasLt.h. Products sum in fp64 for f64, else in fp32.
#include "tests/cuda_emulation/cublas_lt.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "cublasLt.h"
#include "cuda_bf16.h"
#include "tests/cuda_emulation/accesses/recording.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/streams.h"

namespace cuda_emulation {
namespace {

// The arguments of one call of cublasLtMatmul().
struct Product {
  cublasLtMatmulDescOpaque_t description;
  cublasLtMatrixLayoutOpaque_t a_layout, b_layout, d_layout;
  const void *a, *b, *c;
  void* d;
  double alpha, beta;
};

double number(const void* data, cudaDataType_t type, int64_t i) {
  if (type == CUDA_R_64F) return static_cast<const double*>(data)[i];
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[i];
  return std::bit_cast<float>(uint32_t(static_cast<const uint16_t*>(data)[i]) << 16);
}

void set_number(void* data, cudaDataType_t type, int64_t i, double x) {
  if (type == CUDA_R_64F) {
    static_cast<double*>(data)[i] = x;
  } else if (type == CUDA_R_32F) {
    static_cast<float*>(data)[i] = float(x);
  } else {
    static_cast<uint16_t*>(data)[i] = __float2bfloat16_rn(float(x)).bits;
  }
}

// Rows of a matrix (or its columns, if `by_columns`), one after the other.
template <class T>
std::vector<T> unpacked(const void* data, const cublasLtMatrixLayoutOpaque_t& layout, bool by_columns) {
  const int64_t rows = int64_t(layout.rows), columns = int64_t(layout.columns);
  std::vector<T> numbers;
  numbers.reserve(size_t(rows * columns));
  for (int64_t i = 0; i < (by_columns ? columns : rows); ++i) {
    for (int64_t j = 0; j < (by_columns ? rows : columns); ++j) {
      numbers.push_back(T(number(data, layout.type, by_columns ? j + i * layout.stride : i + j * layout.stride)));
    }
  }
  return numbers;
}

template <class T>
void run(const Product& p) {
  const int64_t m = int64_t(p.d_layout.rows), n = int64_t(p.d_layout.columns);
  const std::vector<T> a = unpacked<T>(p.a, p.a_layout, p.description.transposed_a);
  const std::vector<T> b = unpacked<T>(p.b, p.b_layout, !p.description.transposed_b);
  const int64_t k = int64_t(a.size()) / m;
  const bool has_bias = p.description.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[size_t(i * k + l)] * b[size_t(j * k + l)];
      const int64_t at = i + j * p.d_layout.stride;
      double x = p.alpha * sum;
      if (p.beta != 0) x += p.beta * number(p.c, p.d_layout.type, at);
      if (has_bias) x += number(p.description.bias, p.d_layout.type, i);
      if (p.description.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS && x < 0) x = 0;
      set_number(p.d, p.d_layout.type, at, x);
    }
  }
}

size_t size_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

size_t bytes_of(const cublasLtMatrixLayoutOpaque_t& layout) {
  return layout.rows * layout.columns * size_of(layout.type);
}

// Counts each operand once. A GPU that has no room for them in its caches reads some again.
void record_product(const Product& p) {
  const bool has_bias = p.description.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  const size_t written = bytes_of(p.d_layout), bias = has_bias ? p.d_layout.rows * size_of(p.d_layout.type) : 0;
  const size_t read = bytes_of(p.a_layout) + bytes_of(p.b_layout) + (p.beta != 0 ? written : 0) + bias;
  record_work({WorkKind::product, "cublasLtMatmul", read, written});
}

bool fits(const cublasLtMatmulDescOpaque_t& how, const cublasLtMatrixLayoutOpaque_t& a,
          const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& d) {
  const uint64_t m = how.transposed_a ? a.columns : a.rows, n = how.transposed_b ? b.rows : b.columns;
  const uint64_t k = how.transposed_a ? a.rows : a.columns, other_k = how.transposed_b ? b.columns : b.rows;
  const bool is_f64 = a.type == CUDA_R_64F;
  const auto has_stride = [](const auto& layout) { return layout.stride >= int64_t(layout.rows); };
  return d.rows == m && d.columns == n && k == other_k && a.type == b.type && is_f64 == (d.type == CUDA_R_64F) &&
         is_f64 == (how.scale == CUDA_R_64F) && is_f64 == (how.compute == CUBLAS_COMPUTE_64F) && has_stride(a) &&
         has_stride(b) && has_stride(d);
}

bool is_aligned(const void* data, uint32_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

// The largest power of two up to `most` that divides n.
uint32_t alignment(uint64_t n, int most) { return 1U << std::min(std::countr_zero(n), most); }

uint32_t bias_alignment(const cublasLtMatmulDescOpaque_t& how) {
  return alignment(reinterpret_cast<uintptr_t>(how.bias), 4);
}

uint32_t stride_alignment(const cublasLtMatrixLayoutOpaque_t& layout) {
  const uint64_t bytes = layout.type == CUDA_R_64F ? 8 : layout.type == CUDA_R_32F ? 4 : 2;
  return alignment(uint64_t(layout.stride) * bytes, 4);
}

cublasLtMatmulAlgo_t algorithm_for(const cublasLtMatmulDescOpaque_t& how, const cublasLtMatrixLayoutOpaque_t& a,
                                   const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& d,
                                   const cublasLtMatmulPreferenceOpaque_t& preference) {
  cublasLtMatmulAlgo_t algorithm{};
  std::copy_n(preference.alignment, 4, algorithm.alignment);
  algorithm.bias_alignment = bias_alignment(how);
  const cublasLtMatrixLayoutOpaque_t* layouts[] = {&a, &b, &d};
  for (int i = 0; i < 3; ++i) algorithm.stride_alignment[i] = stride_alignment(*layouts[i]);
  algorithm.type = a.type, algorithm.to = d.type;
  algorithm.description = how;
  algorithm.m = d.rows, algorithm.n = d.columns, algorithm.k = how.transposed_a ? a.rows : a.columns;
  algorithm.workspace = preference.workspace;
  return algorithm;
}

// True if the algorithm was chosen for such a product.
bool suits(const cublasLtMatmulAlgo_t& algorithm, const cublasLtMatmulDescOpaque_t& how,
           const cublasLtMatrixLayoutOpaque_t& a, const cublasLtMatrixLayoutOpaque_t& b,
           const cublasLtMatrixLayoutOpaque_t& d) {
  const cublasLtMatmulDescOpaque_t& chosen = algorithm.description;
  const uint64_t k = how.transposed_a ? a.rows : a.columns;
  const bool same_sizes = algorithm.m == d.rows && algorithm.n == d.columns && algorithm.k == k;
  return algorithm.type == a.type && algorithm.to == d.type && chosen.compute == how.compute &&
         chosen.scale == how.scale && chosen.transposed_a == how.transposed_a &&
         chosen.transposed_b == how.transposed_b && chosen.epilogue == how.epilogue &&
         bias_alignment(how) >= algorithm.bias_alignment && stride_alignment(a) >= algorithm.stride_alignment[0] &&
         stride_alignment(b) >= algorithm.stride_alignment[1] && stride_alignment(d) >= algorithm.stride_alignment[2] &&
         (same_sizes || product_library().accepts_other_sizes);
}

bool is_allocated(const void* data, const cublasLtMatrixLayoutOpaque_t& layout) {
  const size_t elements = (layout.columns - 1) * size_t(layout.stride) + layout.rows;
  return contains(MemoryKind::device, data, elements * size_of(layout.type));
}

bool is_bias_allocated(const cublasLtMatmulDescOpaque_t& how, const cublasLtMatrixLayoutOpaque_t& d) {
  return how.epilogue == CUBLASLT_EPILOGUE_DEFAULT || contains(MemoryKind::device, how.bias, d.rows * size_of(d.type));
}

double scalar(const void* data, cudaDataType_t type) { return number(data, type, 0); }

}  // namespace
}  // namespace cuda_emulation

using namespace cuda_emulation;

ProductLibrary& cuda_emulation::product_library() {
  static ProductLibrary library;
  return library;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return "success";
  return status == CUBLAS_STATUS_INVALID_VALUE ? "invalid value" : "not supported";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t* layout, cudaDataType_t type, uint64_t rows,
                                        uint64_t columns, int64_t stride) {
  *layout = {type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t* description, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  *description = {compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* description,
                                              cublasLtMatmulDescAttributes_t which, const void* value, size_t bytes) {
  const auto set = [&](auto& field) {
    if (bytes != sizeof(field)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return set(description->transposed_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return set(description->transposed_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return set(description->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return set(description->bias);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t* preference) {
  *preference = {{256, 256, 256, 256}, 0};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t* preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    size_t bytes) {
  if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) return CUBLAS_STATUS_SUCCESS;  // there is only one order
  if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    if (bytes != sizeof(uint64_t)) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&preference->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (bytes != sizeof(uint32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&preference->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description, const cublasLtMatrixLayoutOpaque_t* a,
    const cublasLtMatrixLayoutOpaque_t* b, const cublasLtMatrixLayoutOpaque_t*, const cublasLtMatrixLayoutOpaque_t* d,
    const cublasLtMatmulPreferenceOpaque_t* preference, int, cublasLtMatmulHeuristicResult_t* results, int* found) {
  ++product_library().choices;
  const bool has_epilogue = product_library().has_epilogues || description->epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  *found = has_epilogue && fits(*description, *a, *b, *d) ? 1 : 0;
  if (*found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  *results = {algorithm_for(*description, *a, *b, *d, *preference), preference->workspace, CUBLAS_STATUS_SUCCESS};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description,
                                       const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                                       const cublasLtMatrixLayoutOpaque_t*, const cublasLtMatrixLayoutOpaque_t* d,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  if (!fits(*description, *a, *b, *d)) return CUBLAS_STATUS_INVALID_VALUE;
  result->workspaceSize = algorithm->workspace;
  result->state = suits(*algorithm, *description, *a, *b, *d) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  return result->state;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description, const void* alpha,
                              const void* a, const cublasLtMatrixLayoutOpaque_t* a_layout, const void* b,
                              const cublasLtMatrixLayoutOpaque_t* b_layout, const void* beta, const void* c,
                              const cublasLtMatrixLayoutOpaque_t* c_layout, void* d,
                              const cublasLtMatrixLayoutOpaque_t* d_layout, const cublasLtMatmulAlgo_t* algorithm,
                              void*, size_t workspace_bytes, cudaStream_t stream) {
  const auto lock = lock_gpu();
  const uint32_t* alignment = algorithm->alignment;
  const bool same_strides = c_layout->stride == d_layout->stride && c_layout->type == d_layout->type;
  if (!fits(*description, *a_layout, *b_layout, *d_layout) || !same_strides || !is_aligned(a, alignment[0]) ||
      !is_aligned(b, alignment[1]) || !is_aligned(c, alignment[2]) || !is_aligned(d, alignment[3]) ||
      !suits(*algorithm, *description, *a_layout, *b_layout, *d_layout) || workspace_bytes < algorithm->workspace) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool reads_c = scalar(beta, description->scale) != 0;
  if (!is_allocated(a, *a_layout) || !is_allocated(b, *b_layout) || !is_allocated(d, *d_layout) ||
      (reads_c && !is_allocated(c, *c_layout)) || !is_bias_allocated(*description, *d_layout)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cudaDataType_t scale = description->scale;
  const Product product{*description,         *a_layout,          *b_layout, *d_layout, a, b, c, d,
                        scalar(alpha, scale), scalar(beta, scale)};
  queue_kernel(stream, [product] {
    if (product.a_layout.type == CUDA_R_64F) {
      run<double>(product);
    } else {
      run<float>(product);
    }
    record_product(product);
  });
  return CUBLAS_STATUS_SUCCESS;
}
