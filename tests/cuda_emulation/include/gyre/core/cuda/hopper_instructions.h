// The emulator's version of core/cuda/hopper_instructions.h, which the include path finds first: the same functions
// without PTX.
#pragma once

#include <cuda.h>

#include "cuda_emulation/device.h"

namespace gyre::cuda {

using Place = std::source_location;

inline std::byte* tile_memory() { return cuda_emulation::dynamic_shared_memory(); }
inline uint32_t shared_address(const void* data) { return cuda_emulation::shared_address(data); }

class Barrier {
 public:
  void init(int arrivals, Place at = Place::current()) { cuda_emulation::init_barrier(&state_, arrivals, at); }
  void arrive(Place at = Place::current()) { cuda_emulation::arrive(&state_, 0, at); }
  void expect(int bytes, Place at = Place::current()) { cuda_emulation::arrive(&state_, bytes, at); }
  void wait(int parity, Place at = Place::current()) { cuda_emulation::wait_barrier(&state_, parity, at); }

 private:
  uint64_t state_;
};
inline void fence_barriers() { cuda_emulation::fence_barriers(); }
inline void fence_async() { cuda_emulation::fence_async(); }

template <int registers>
void shrink_registers() {
  static_assert(registers % 8 == 0 && registers >= 24);
}
template <int registers>
void grow_registers() {
  static_assert(registers % 8 == 0 && registers <= 256);
}

inline void load_panel(void* to, const CUtensorMap& from, int column, int row, Barrier& barrier,
                       Place at = Place::current()) {
  cuda_emulation::load_panel(to, from, column, row, &barrier, at);
}

template <int Chunks>
void multiply_async(float (&d)[Chunks][4], uint64_t a, uint64_t b, bool keep, Place at = Place::current()) {
  cuda_emulation::multiply_async({&d[0][0], 8 * Chunks, nullptr, a, b, keep}, at);
}
template <int Chunks>
void multiply_async(float (&d)[Chunks][4], const uint32_t (&a)[4], uint64_t b, bool keep, Place at = Place::current()) {
  cuda_emulation::multiply_async({&d[0][0], 8 * Chunks, a, 0, b, keep}, at);
}
template <class... Registers>
void fence_products(Registers&...) {
  cuda_emulation::fence_products(Place::current());
}
inline void commit_products(Place at = Place::current()) { cuda_emulation::commit_products(at); }
template <int groups, int... Chunks>
void wait_products(float (&... sums)[Chunks][4]) {
  const float* const finished[] = {nullptr, &sums[0][0]...};
  cuda_emulation::wait_products(groups, finished + 1, sizeof...(sums), Place::current());
}

}  // namespace gyre::cuda
