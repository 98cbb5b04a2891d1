// The part of cublasLt that Gyre uses: products of column-major matrices with a bias and relu as epilogue.
#pragma once

#include <cstdint>

#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_NOT_SUPPORTED = 15 };
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
};
enum { CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2 };
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB,
  CUBLASLT_MATMUL_DESC_EPILOGUE,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER,
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
};

using cublasLtHandle_t = struct cublasLtContext*;
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t stride;  // elements from column to column
};
struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transposed_a, transposed_b;
  cublasLtEpilogue_t epilogue;
  const void* bias;
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint32_t alignment[4];  // alignments of A, B, C and D in bytes
  uint64_t workspace;
};
// What an algorithm relies on.
struct cublasLtMatmulAlgo_t {
  uint32_t alignment[4], bias_alignment;
  uint32_t stride_alignment[3];  // alignments of the strides of A, B and C in bytes
  cudaDataType_t type, to;
  cublasLtMatmulDescOpaque_t description;
  uint64_t m, n, k, workspace;
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
};

const char* cublasLtGetStatusString(cublasStatus_t status);
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle);
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayoutOpaque_t* layout, cudaDataType_t type, uint64_t rows,
                                        uint64_t columns, int64_t stride);
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDescOpaque_t* description, cublasComputeType_t compute,
                                      cudaDataType_t scale);
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDescOpaque_t* description,
                                              cublasLtMatmulDescAttributes_t which, const void* value, size_t bytes);
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreferenceOpaque_t* preference);
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreferenceOpaque_t* preference,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* value,
                                                    size_t bytes);
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description,
                                              const cublasLtMatrixLayoutOpaque_t* a,
                                              const cublasLtMatrixLayoutOpaque_t* b,
                                              const cublasLtMatrixLayoutOpaque_t* c,
                                              const cublasLtMatrixLayoutOpaque_t* d,
                                              const cublasLtMatmulPreferenceOpaque_t* preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* found);
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description,
                                       const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                                       const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, const cublasLtMatmulDescOpaque_t* description, const void* alpha,
                              const void* a, const cublasLtMatrixLayoutOpaque_t* a_layout, const void* b,
                              const cublasLtMatrixLayoutOpaque_t* b_layout, const void* beta, const void* c,
                              const cublasLtMatrixLayoutOpaque_t* c_layout, void* d,
                              const cublasLtMatrixLayoutOpaque_t* d_layout, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream);
