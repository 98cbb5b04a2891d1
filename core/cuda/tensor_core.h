// Wrappers of PTX instructions: barriers of some warps, and for attention tensor core products, matrix loads,
// asynchronous copies, and conversions that C++ code compiles to several instructions. PTX ISA 9.0, sections 9.7.14
// (mma, ldmatrix), 9.7.9 (cp.async, cvt) and 9.7.3 (ex2).
#pragma once

#include <cstdint>

namespace gyre::cuda {

// d(16,8) += a(16,16) b(16,8) for bf16 operands, with fp32 sums, by a warp. With g = lane / 4, t = lane % 4:
//   a[0]: row g, columns 2t, 2t+1;  a[1]: row g+8;  a[2]: row g, columns 2t+8, 2t+9;  a[3]: row g+8, those columns
//   b[0]: rows 2t, 2t+1 of column g;  b[1]: rows 2t+8, 2t+9
//   d[0], d[1]: row g, columns 2t, 2t+1;  d[2], d[3]: row g+8
__device__ inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Loads four 8 x 8 matrices of 16-bit numbers from shared memory. Lane l passes the address of row l % 8 of matrix
// l / 8 (16 bytes, aligned). With g = l / 4, t = l % 4, to[i] holds row g, columns 2t and 2t+1, of matrix i.
__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
}

// load_matrices() with each matrix transposed: to[i] holds rows 2t and 2t+1 of column g.
__device__ inline void load_matrices_transposed(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(uint32_t(__cvta_generic_to_shared(row)))
               : "memory");
}

// Copies 16 bytes from global to shared memory asynchronously, or writes zeros if not `inside`. Both addresses must be
// aligned to 16 bytes.
__device__ inline void copy_async(void* shared, const void* global, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(uint32_t(__cvta_generic_to_shared(shared))),
               "l"(global), "r"(inside ? 16 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
// Waits until at most `groups` of the committed groups are pending.
template <int groups>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(groups) : "memory");
}

// A barrier of `threads` threads of whole warps, which all give the same number `id`, 1 to 15.
__device__ inline void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "r"(threads) : "memory");
}

// Rounds two numbers to bf16, to nearest, ties to even. `low` is in the lower half of the result.
__device__ inline uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// 2^x with a relative error of 2^-22. Results below 2^-126 are 0; exp2f() takes three more instructions for them.
__device__ inline float fast_exp2(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(power) : "f"(x));
  return power;
}

}  // namespace gyre::cuda
