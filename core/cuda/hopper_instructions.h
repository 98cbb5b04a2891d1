// Wrappers of the PTX instructions of compute capability 9.0a: products by a warpgroup (wgmma), copies of tiles (TMA),
// barriers in shared memory (mbarrier), and the distribution of registers. PTX ISA 9.0,
// sections 9.7.15 (wgmma), 9.7.9.27 (cp.async.bulk.tensor), 9.7.13.15 (mbarrier) and 9.7.19.5 (setmaxnreg). What they
// mean is emulated by tests/cuda_emulation/hopper.h, and both are compared with exact numbers by hopper_table_test.cu.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gyre::cuda {

// The place of a call, for reports of the emulator.
struct Place {
  __device__ static constexpr Place current() { return {}; }
};

// The block's dynamic shared memory, as shared_memory() of runtime/shared_memory.h, but aligned for tiles.
__device__ inline std::byte* tile_memory() {
  extern __shared__ __align__(1024) std::byte dynamic_tile_memory[];
  return dynamic_tile_memory;
}
__device__ inline uint32_t shared_address(const void* data) { return uint32_t(__cvta_generic_to_shared(data)); }

// A barrier in shared memory. Its phases have the parities 0, 1, 0, ... A phase ends when the given number of threads
// has arrived and all bytes that they expect have been copied.
class Barrier {
 public:
  // By one thread, before fence_barriers() and __syncthreads().
  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(this)), "r"(arrivals) : "memory");
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(this)) : "memory");
  }
  // Arrives, and adds to the bytes that load_tile() must copy in this phase.
  __device__ void expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(this)), "r"(bytes)
                 : "memory");
  }
  // Waits until a phase with this parity has ended. Before the first phase has ended, one with parity 1 counts as
  // ended.
  __device__ void wait(int parity) {
    asm volatile(
        "{\n.reg .pred ended;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n@!ended bra "
        "WAIT;\n}\n" ::"r"(shared_address(this)),
        "r"(parity)
        : "memory");
  }

 private:
  uint64_t state_;
};

// By the thread that has initialized barriers, so that copies see them.
__device__ inline void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory"); }

// Shared memory that the calling thread has written is visible to products and copies that follow a barrier.
__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Changes the number of registers of each thread of the calling warpgroup, to a multiple of 8.
template <int registers>
__device__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(registers));
}
template <int registers>
__device__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(registers));
}

// Copies the box of the map at this column and row to shared memory, by one thread, and counts the bytes at the
// barrier. Rows and columns outside of the map are zeros.
__device__ inline void load_panel(void* to, const CUtensorMap& from, int column, int row, Barrier& barrier,
                                  Place = {}) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared_address(to)),
      "l"(&from), "r"(column), "r"(row), "r"(shared_address(&barrier))
      : "memory");
}

// d(64, N) = a(64, 16) b(16, N), plus d if `keep`, by a warpgroup, asynchronously: d is undefined until
// wait_products(). Warp i of the four has rows 16 i to 16 i + 15 of d and a. Sums and operands in registers have the
// layout of mma_bf16() in tensor_core.h: d[j] has columns 8 j to 8 j + 7. Registers must not be written between the
// call and the wait; fence_products() must be between writing them and the call. a is K-major in shared memory, and b
// too, or a is in registers, and b is MN-major (matrix descriptors of hopper.h).
#define GYRE_REGISTERS_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define GYRE_REGISTERS_32 GYRE_REGISTERS_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define GYRE_REGISTERS_64                                                                     \
  GYRE_REGISTERS_32                                                                           \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53," \
  "%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define GYRE_SUMS_4(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define GYRE_SUMS_16(j) GYRE_SUMS_4(j), GYRE_SUMS_4(j + 1), GYRE_SUMS_4(j + 2), GYRE_SUMS_4(j + 3)
#define GYRE_SUMS_32(j) GYRE_SUMS_16(j), GYRE_SUMS_16(j + 4)
#define GYRE_SUMS_64(j) GYRE_SUMS_32(j), GYRE_SUMS_32(j + 8)
// The operands after the sums: a, b, whether to keep d. The last two numbers of the instruction: a and b are K-major.
#define GYRE_MULTIPLY(n, registers, a_number, b_number, keep_number)                                                \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, %" #keep_number ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n \
               "k16.f32.bf16.bf16 {" GYRE_REGISTERS_##registers "}, %" #a_number ", %" #b_number                    \
                                                                ", keep, 1, 1, 0, 0;\n}\n"                          \
               : GYRE_SUMS_##registers(0)                                                                           \
               : "l"(a), "l"(b), "r"(int(keep))                                                                     \
               : "memory")
// The operands after the sums: four registers of a, b, whether to keep d. The last number: b is MN-major.
#define GYRE_MULTIPLY_REGISTERS(n, registers, a0, a1, a2, a3, b_number, keep_number)                                \
  asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, %" #keep_number ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n \
               "k16.f32.bf16.bf16 {" GYRE_REGISTERS_##registers "}, {%" #a0 ",%" #a1 ",%" #a2 ",%" #a3              \
                                                                "}, %" #b_number ", keep, 1, 1, 1;\n}\n"            \
               : GYRE_SUMS_##registers(0)                                                                           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int(keep))                                 \
               : "memory")

template <int Chunks>
__device__ void multiply_async(float (&d)[Chunks][4], uint64_t a, uint64_t b, bool keep, Place = {}) {
  static_assert(Chunks == 8 || Chunks == 16);
  if constexpr (Chunks == 8) GYRE_MULTIPLY(64, 32, 32, 33, 34);
  if constexpr (Chunks == 16) GYRE_MULTIPLY(128, 64, 64, 65, 66);
}
template <int Chunks>
__device__ void multiply_async(float (&d)[Chunks][4], const uint32_t (&a)[4], uint64_t b, bool keep, Place = {}) {
  static_assert(Chunks == 4 || Chunks == 8 || Chunks == 16);
  if constexpr (Chunks == 4) GYRE_MULTIPLY_REGISTERS(32, 16, 16, 17, 18, 19, 20, 21);
  if constexpr (Chunks == 8) GYRE_MULTIPLY_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37);
  if constexpr (Chunks == 16) GYRE_MULTIPLY_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69);
}
#undef GYRE_REGISTERS_16
#undef GYRE_REGISTERS_32
#undef GYRE_REGISTERS_64
#undef GYRE_SUMS_4
#undef GYRE_SUMS_16
#undef GYRE_SUMS_32
#undef GYRE_SUMS_64
#undef GYRE_MULTIPLY
#undef GYRE_MULTIPLY_REGISTERS

// Keeps the compiler from moving accesses of these registers to the other side of this place.
template <class T, int N>
__device__ void pin_registers(T (&registers)[N][4]) {
#pragma unroll
  for (auto& four : registers) {
    if constexpr (std::is_same_v<T, float>) {
      asm volatile("" : "+f"(four[0]), "+f"(four[1]), "+f"(four[2]), "+f"(four[3])::"memory");
    } else {
      asm volatile("" : "+r"(four[0]), "+r"(four[1]), "+r"(four[2]), "+r"(four[3])::"memory");
    }
  }
}

// Before products whose sums or left operands, `registers`, have been written.
template <class... T, int... N>
__device__ void fence_products(T (&... registers)[N][4]) {
  (pin_registers(registers), ...);
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
// Waits until at most `groups` of the committed groups of products are unfinished. `sums`: those that are finished
// then; the compiler must not read them earlier.
template <int groups, int... Chunks>
__device__ void wait_products(float (&... sums)[Chunks][4]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(groups) : "memory");
  (pin_registers(sums), ...);
}

}  // namespace gyre::cuda
