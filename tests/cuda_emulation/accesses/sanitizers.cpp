// The functions that -fsanitize=thread and -fsanitize=bounds call, in place of those of the sanitizers' libraries.
// Atomic accesses only occur in code of the host, as in the initialization of static variables.
#include <cstdint>
#include <string>

#include "cuda_emulation/hooks.h"
#include "tests/cuda_emulation/accesses/accesses.h"

namespace {

// The part of the argument of __ubsan_handle_out_of_bounds() that is used.
struct OutOfBounds {
  const char* file;
  uint32_t line, column;
};

}  // namespace

using cuda_emulation::note_read, cuda_emulation::note_write;

extern "C" {

void __tsan_init() {}

#define GYRE_ACCESSES(bytes)                                                                                   \
  void __tsan_read##bytes(const void* data) { note_read(data, bytes, __builtin_return_address(0)); }           \
  void __tsan_write##bytes(void* data) { note_write(data, bytes, __builtin_return_address(0)); }               \
  void __tsan_unaligned_read##bytes(const void* data) { note_read(data, bytes, __builtin_return_address(0)); } \
  void __tsan_unaligned_write##bytes(void* data) { note_write(data, bytes, __builtin_return_address(0)); }
GYRE_ACCESSES(1)
GYRE_ACCESSES(2)
GYRE_ACCESSES(4)
GYRE_ACCESSES(8)
GYRE_ACCESSES(16)

void __tsan_read_range(const void* data, size_t bytes) { note_read(data, bytes, __builtin_return_address(0)); }
void __tsan_write_range(void* data, size_t bytes) { note_write(data, bytes, __builtin_return_address(0)); }
void __tsan_vptr_update(void** data, void*) { note_write(data, sizeof(void*), __builtin_return_address(0)); }
void __tsan_vptr_read(void** data) { note_read(data, sizeof(void*), __builtin_return_address(0)); }

uint8_t __tsan_atomic8_load(const volatile uint8_t* data, int) { return __atomic_load_n(data, __ATOMIC_SEQ_CST); }
void __tsan_atomic8_store(volatile uint8_t* data, uint8_t x, int) { __atomic_store_n(data, x, __ATOMIC_SEQ_CST); }
int32_t __tsan_atomic32_load(const volatile int32_t* data, int) { return __atomic_load_n(data, __ATOMIC_SEQ_CST); }
bool __tsan_atomic32_compare_exchange_weak(volatile int32_t* data, int32_t* expected, int32_t desired, int, int) {
  return __atomic_compare_exchange_n(data, expected, desired, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
int32_t __tsan_atomic32_fetch_add(volatile int32_t* data, int32_t x, int) {
  return __atomic_fetch_add(data, x, __ATOMIC_SEQ_CST);
}

void __ubsan_handle_out_of_bounds(const OutOfBounds* at, uintptr_t index) {
  const std::string file = at->file;
  cuda_emulation::fail_thread("index " + std::to_string(intptr_t(index)) + " is outside of the array, at " +
                              file.substr(file.rfind('/') + 1) + ":" + std::to_string(at->line));
}

}  // extern "C"
