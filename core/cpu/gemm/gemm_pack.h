// Packs the operands of a product into panels. A panel interleaves W rows (of A) or columns (of B): for each summed
// index, it holds W contiguous elements, so that the inner kernel reads memory sequentially. bf16 is packed in pairs of
// summed indices, the operand layout of vdpbf16ps. fp32 operands of a bf16 product are rounded while they are packed.
#pragma once

#include <algorithm>
#include <cstring>

#include "gyre/core/cpu/bf16_pairs.h"
#include "gyre/core/cpu/gemm/gemm.h"
#include "gyre/core/cpu/transpose.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// Packs two neighbors along the summed index into one element. For other types than bf16, `second` is ignored.
template <class T, class Source>
Packed<T> packed_element(Source first, Source second) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return bf16_pair(bfloat16(first), bfloat16(second));
  } else {
    return first;
  }
}

// Loads one vector of packed elements from consecutive summed indices.
template <class T, class Source>
inline typename VectorOf<Packed<T>>::type load_packed(const Source* from) {
  if constexpr (std::is_same_v<T, Source>) {
    return *reinterpret_cast<const typename VectorOf<Packed<T>>::type*>(from);
  } else {
    const auto* vectors = reinterpret_cast<const VectorOf<float>::type*>(from);
    return round_neighbors(vectors[0], vectors[1]);
  }
}

// Packs a source that is contiguous along the summed index. Blocks of lanes x lanes are transposed in registers.
template <class T, int W, class Source>
void pack_free_major(Packed<T>* to, const Source* from, int64_t stride, int64_t free, int64_t summed) {
  using P = Packed<T>;
  constexpr int64_t lanes = kLanes<P>, step = kSummedPerElement<T>;
  const int64_t elements = summed / step;  // complete elements
  int64_t e = 0;
  for (; e + lanes <= elements; e += lanes) {
    for (int64_t first = 0; first < W; first += lanes) {
      typename VectorOf<P>::type rows[lanes];
      GYRE_UNROLL
      for (int64_t i = 0; i < lanes; ++i) {
        const bool inside = first + i < free;
        rows[i] = inside ? load_packed<T>(from + (first + i) * stride + e * step) : typename VectorOf<P>::type{};
      }
      transpose<P>(rows);
      const size_t bytes = size_t(std::min<int64_t>(lanes, W - first)) * sizeof(P);
      GYRE_UNROLL
      for (int64_t i = 0; i < lanes; ++i) std::memcpy(to + (e + i) * W + first, &rows[i], bytes);
    }
  }
  for (; e * step < summed; ++e) {
    for (int64_t i = 0; i < W; ++i) {
      const Source* at = from + i * stride + e * step;
      const bool pair = step == 2 && e * step + 1 < summed;
      to[e * W + i] = i < free ? packed_element<T>(at[0], pair ? at[1] : Source(0.0f)) : P(0);
    }
  }
}

// Packs a source that is contiguous along the free index: rows are copied, or interleaved in pairs. Whole vectors are
// written. They may exceed the width of the panel, where the next row overwrites them, except in the last row, which is
// written element by element.
template <class T, int W, class Source>
void pack_summed_major(Packed<T>* to, const Source* from, int64_t stride, int64_t free, int64_t readable,
                       int64_t summed, bool last) {
  constexpr int64_t step = kSummedPerElement<T>, lanes = kLanes<Packed<T>>, whole = (W + lanes - 1) / lanes * lanes;
  alignas(kVectorBytes) Source edge[2][whole], zeros[whole];
  std::fill_n(edge[0], 2 * whole, Source(0.0f));
  std::fill_n(zeros, whole, Source(0.0f));
  for (int64_t p = 0; p < summed; p += step, to += W) {
    const Source *first = from + p * stride, *second = p + step > summed ? zeros : first + (step - 1) * stride;
    if (free < W || readable < whole || (last && p + step >= summed)) {
      std::copy_n(first, free, edge[0]);
      std::copy_n(second, free, edge[1]);
      for (int64_t i = 0; i < W; ++i) to[i] = packed_element<T>(edge[0][i], edge[1][i]);
    } else {
#pragma omp simd
      for (int64_t i = 0; i < whole; ++i) to[i] = packed_element<T>(first[i], second[i]);
    }
  }
}

// Packs `count` panels of an operand with `size` free indices, from panel number `begin` on. Each is a matrix
// (ceil(summed / kSummedPerElement), W) of packed elements, and begins `panel` elements after the one before it.
// Elements beyond the end of the operand are zero.
template <class T, int W>
void pack_panels(Packed<T>* to, int64_t panel, const Operand& operand, int64_t size, int64_t begin, int64_t count,
                 int64_t summed_begin, int64_t summed) {
  // A summed-major operand is read in slices of rows, so that the cache lines of a row serve all panels.
  const int64_t slice = operand.summed_major ? 16 * kSummedPerElement<T> : summed;
  const auto pack = [&]<class Source>(Source) {
    for (int64_t p = 0; p < summed; p += slice) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = (begin + i) * W, free = std::min<int64_t>(W, size - first);
        const int64_t depth = std::min(slice, summed - p);
        const Source* from = static_cast<const Source*>(operand.data);
        Packed<T>* out = to + i * panel + p / kSummedPerElement<T> * W;
        if (operand.summed_major) {
          pack_summed_major<T, W>(out, from + (summed_begin + p) * operand.stride + first, operand.stride, free,
                                  operand.stride - first, depth, p + slice >= summed);
        } else {
          pack_free_major<T, W>(out, from + first * operand.stride + summed_begin, operand.stride, free, depth);
        }
      }
    }
  };
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (operand.dtype == DType::f32) return pack(float{});
  }
  pack(T{});
}

// Prefetches part number `part` of `parts` of the memory that packing of free indices begin .. begin + free - 1 reads.
inline void prefetch_share(const Operand& operand, int64_t begin, int64_t free, int64_t summed_begin, int64_t summed,
                           int64_t part, int64_t parts) {
  const auto element = int64_t(dtype_bytes(operand.dtype));
  const int64_t rows = operand.summed_major ? summed : free;
  const int64_t first = operand.summed_major ? summed_begin : begin,
                column = operand.summed_major ? begin : summed_begin;
  const int64_t bytes = (operand.summed_major ? free : summed) * element;
  for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
    const char* from = static_cast<const char*>(operand.data) + ((first + row) * operand.stride + column) * element;
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b, 0, 2);
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
