// Packs the operands of a product into panels. A panel interleaves W rows (of A) or columns (of B): for each summed
// index, it holds W contiguous elements, so that the inner kernel reads memory sequentially. bf16 is packed in pairs of
// summed indices, the operand layout of vdpbf16ps. fp32 operands of a bf16 product are rounded while they are packed.
#pragma once

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "gyre/core/cpu/bf16_pairs.h"
#include "gyre/core/cpu/gemm/gemm.h"
#include "gyre/core/cpu/head_tiles.h"
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
template <class T, class Rounding, class Source>
inline typename VectorOf<Packed<T>>::type load_neighbors(const Source* from) {
  if constexpr (std::is_same_v<T, Source>) {
    typename VectorOf<Packed<T>>::type elements;
    std::memcpy(&elements, from, sizeof elements);  // a row of bf16 may begin at an odd multiple of 2 bytes
    return elements;
  } else {
    const auto* vectors = reinterpret_cast<const VectorOf<float>::type*>(from);
    return Rounding::neighbors(vectors[0], vectors[1]);
  }
}

// Loads one vector of packed elements along the free index, from one row or two.
template <class T, class Rounding, class Source>
inline typename VectorOf<Packed<T>>::type load_rows(const Source* first, const Source* second) {
  if constexpr (kSummedPerElement<T> == 1) {
    return load_vector(first);
  } else if constexpr (std::is_same_v<Source, float>) {
    return Rounding::pairs(load_vector(first), load_vector(second));
  } else {
    return (PairVector)load_vector(first) >> 16 | (PairVector)load_vector(second);  // bf16 is the upper half of fp32
  }
}

// Stores the first `count` elements of a vector. AVX-512 stores elements of 4 bytes by one masked store: storing parts
// one by one, or whole vectors that overlap, takes nearly twice the time.
template <class P, int64_t count>
inline void store_first(P* to, typename VectorOf<P>::type from) {
#ifdef __AVX512F__
  if constexpr (count < kLanes<P> && sizeof(P) == 4) {
    return _mm512_mask_storeu_epi32(to, (1 << count) - 1, (__m512i)from);
  }
#endif
  std::memcpy(to, &from, size_t(count) * sizeof(P));
}

// Stores a row of a panel of W elements. load(i) returns the vector that begins at element i.
template <int W, class P, class Load>
inline void store_row(P* to, Load&& load) {
  constexpr int64_t lanes = kLanes<P>;
  GYRE_UNROLL
  for (int64_t i = 0; i + lanes <= W; i += lanes) store_first<P, lanes>(to + i, load(i));
  if constexpr (W % lanes > 0) store_first<P, W % lanes>(to + W / lanes * lanes, load(W / lanes * lanes));
}

// Packs a block of `lanes` elements along the summed index by `width` free indices, of which `present` exist: `width`
// rows of the source, at distance `stride`, become columns of the panel, whose rows have W elements.
template <class T, int W, int64_t width, class Rounding, class Source>
inline void pack_block(Packed<T>* to, const Source* from, int64_t stride, int64_t present) {
  using Vector = typename VectorOf<Packed<T>>::type;
  constexpr int64_t lanes = kLanes<Packed<T>>;
  // Inlined twice, so that the usual constant number of rows needs no comparisons.
  const auto pack = [=](int64_t rows) __attribute__((always_inline)) {
    Vector block[lanes];
    GYRE_UNROLL
    for (int64_t i = 0; i < lanes; ++i) {
      block[i] = i < rows ? load_neighbors<T, Rounding>(from + i * stride) : Vector{};
    }
    transpose<Packed<T>>(block);
    GYRE_UNROLL
    for (int64_t i = 0; i < lanes; ++i) store_first<Packed<T>, width>(to + i * W, block[i]);
  };
  present >= width ? pack(width) : pack(present);
}

// Packs a source that is contiguous along the summed index: blocks of lanes x lanes are transposed. From the first free
// index of the panel on, the operand has `free`, which may be more than W.
template <class T, int W, class Rounding, class Source>
void pack_free_major(Packed<T>* to, const Source* from, int64_t stride, int64_t free, int64_t summed) {
  constexpr int64_t lanes = kLanes<Packed<T>>, step = kSummedPerElement<T>, rest = W % lanes;
  const int64_t elements = summed / step;  // complete elements
  int64_t e = 0;
  for (; e + lanes <= elements; e += lanes) {
    int64_t first = 0;
    for (; first + lanes <= W; first += lanes) {
      pack_block<T, W, lanes, Rounding>(to + e * W + first, from + first * stride + e * step, stride, free - first);
    }
    if constexpr (rest > 0) {
      pack_block<T, W, rest, Rounding>(to + e * W + first, from + first * stride + e * step, stride, free - first);
    }
  }
  for (; e * step < summed; ++e) {
    for (int64_t i = 0; i < W; ++i) {
      const Source* at = from + i * stride + e * step;
      const bool pair = step == 2 && e * step + 1 < summed;
      to[e * W + i] = i < free ? packed_element<T>(at[0], pair ? at[1] : Source(0.0f)) : Packed<T>(0);
    }
  }
}

// Packs a source that is contiguous along the free index: rows are copied, or interleaved in pairs. Of each row of the
// source, `readable` elements may be read.
template <class T, int W, class Rounding, class Source>
void pack_summed_major(Packed<T>* to, const Source* from, int64_t stride, int64_t free, int64_t readable,
                       int64_t summed) {
  constexpr int64_t step = kSummedPerElement<T>, whole = round_up(W, kLanes<Packed<T>>);
  const std::array<Source, whole> zeros{};
  for (int64_t p = 0; p < summed; p += step, to += W) {
    const Source *first = from + p * stride, *second = p + step > summed ? zeros.data() : first + (step - 1) * stride;
    if (free >= W && readable >= whole) {
      store_row<W>(to, [&](int64_t i) { return load_rows<T, Rounding>(first + i, second + i); });
    } else {
      for (int64_t i = 0; i < W; ++i) to[i] = i < free ? packed_element<T>(first[i], second[i]) : Packed<T>(0);
    }
  }
}

// Calls f(Rounding{}, Source{}) with the type of an operand of a product of type T, and how it is rounded to T.
template <class T, class F>
void dispatch_source(DType dtype, F&& f) {
  if constexpr (std::is_same_v<T, bfloat16>) {
#ifdef __AVX512F__
    if (dtype == DType::f32 && !emulates_bf16()) return f(FastRounding{}, float{});
#endif
    if (dtype == DType::f32) return f(PortableRounding{}, float{});
  }
  f(PortableRounding{}, T{});
}

// Packs `count` panels of an operand with `size` free indices, from panel number `begin` on. Each is a matrix
// (ceil(summed / kSummedPerElement), W) of packed elements, and begins `panel` elements after the one before it.
// Elements beyond the end of the operand are zero.
template <class T, int W>
void pack_panels(Packed<T>* to, int64_t panel, const Operand& operand, int64_t size, int64_t begin, int64_t count,
                 int64_t summed_begin, int64_t summed) {
  const auto pack = [&]<class Rounding, class Source>(Rounding, Source) {
    // A summed-major operand is read in slices of rows, so that the cache lines of a row serve all panels. The slices
    // are short, because rows that are multiples of 4 KB apart share a set of 8 lines of the first-level cache: 8 rows
    // of 1,024 fp32 numbers, or 16 rows of as many bf16 numbers.
    const int64_t slice = operand.summed_major ? 32 / int64_t(sizeof(Source)) : summed;
    const Source* from = static_cast<const Source*>(operand.data);
    for (int64_t p = 0; p < summed; p += slice) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = (begin + i) * W, free = size - first, depth = std::min(slice, summed - p);
        Packed<T>* out = to + i * panel + p / kSummedPerElement<T> * W;
        if (operand.summed_major) {
          pack_summed_major<T, W, Rounding>(out, from + (summed_begin + p) * operand.stride + first, operand.stride,
                                            free, operand.stride - first, depth);
        } else {
          pack_free_major<T, W, Rounding>(out, from + first * operand.stride + summed_begin, operand.stride, free,
                                          depth);
        }
      }
    }
  };
  dispatch_source<T>(operand.dtype, pack);
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
