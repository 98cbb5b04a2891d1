#include "gyre/core/cuda/hopper.h"
#include "gyre/core/cuda/runtime/check.h"

namespace gyre::cuda {

TileMap make_tile_map(const bfloat16* data, int64_t rows, int64_t columns, int64_t stride, int panel, int tile_rows) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  // From the driver, so that gyre needs no library of it.
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, 0, &result),
          "cudaGetDriverEntryPoint");
    require(result == cudaDriverEntryPointSuccess && function, "[cuda] the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<Encode>(function);
  }();
  TileMap map;
  const cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {2 * cuuint64_t(stride)};
  const cuuint32_t box[] = {cuuint32_t(panel), cuuint32_t(tile_rows)}, steps[] = {1, 1};
  const CUresult status =
      encode(&map.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<bfloat16*>(data), sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, panel == 64 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  require(status == CUDA_SUCCESS, "[cuda] cuTensorMapEncodeTiled failed with status ", int(status), " for ", rows,
          " rows of ", columns, " columns at a distance of ", stride);
  return map;
}

}  // namespace gyre::cuda
