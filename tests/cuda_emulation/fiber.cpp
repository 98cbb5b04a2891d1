#include "tests/cuda_emulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

// Defined only in builds with AddressSanitizer, which must know of every switch between stacks.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** save, const void* bottom, size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* saved, const void** old_bottom, size_t* old_size);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* data, size_t bytes);
void gyre_switch_stacks(void** save, void* next);
}

// Saves the registers that a callee must preserve and the stack pointer, and restores those of the other stack.
asm(R"(
  .text
  .type gyre_switch_stacks, @function
gyre_switch_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
  .size gyre_switch_stacks, . - gyre_switch_stacks
)");

namespace cuda_emulation {
namespace {

// The ends of stacks are at different distances from multiples of a page, or all would compete for few cache lines.
constexpr size_t kStack = 256 << 10, kStagger = 13 * 64, kStaggered = 32 << 10, kSavedRegisters = 6;
// The functions that call finish() use less of the stack, without the kernel, which has returned.
constexpr size_t kEntryFrames = 4096;

std::vector<std::byte*> free_stacks;
Fiber* running = nullptr;
void* scheduler_pointer = nullptr;
const void* scheduler_bottom = nullptr;
size_t scheduler_size = 0;

std::byte* take_stack() {
  if (!free_stacks.empty()) {
    std::byte* stack = free_stacks.back();
    free_stacks.pop_back();
    return stack;
  }
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

// Makes memory valid again that functions have left without a return.
void unpoison(std::byte* data, size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(data, bytes);
}

void leave_stack(void** sanitizer, const void* bottom, size_t size) {
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(sanitizer, bottom, size);
}
void enter_stack(void* sanitizer, const void** old_bottom, size_t* old_size) {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(sanitizer, old_bottom, old_size);
}

}  // namespace

void Fiber::start(void (*entry)()) { entry_ = entry; }

void Fiber::resume() {
  if (!stack_) {
    stack_ = take_stack();
    // The first switch pops zeros as registers and returns to this function, with the alignment after a call.
    const size_t unused = reinterpret_cast<uintptr_t>(stack_) / kStack * kStagger % kStaggered;
    auto* top = reinterpret_cast<void**>(stack_ + kStack - unused) - 2;
    *top = reinterpret_cast<void*>(+[] {
      enter_stack(nullptr, &scheduler_bottom, &scheduler_size);
      running->entry_();
      std::abort();
    });
    stack_pointer_ = top - kSavedRegisters;
    unpoison(reinterpret_cast<std::byte*>(top) - kEntryFrames, kEntryFrames);
  }
  running = this;
  void* sanitizer = nullptr;
  leave_stack(&sanitizer, stack_, kStack);
  gyre_switch_stacks(&scheduler_pointer, stack_pointer_);
  enter_stack(sanitizer, nullptr, nullptr);
}

void Fiber::suspend() {
  Fiber* self = running;
  leave_stack(&self->sanitizer_, scheduler_bottom, scheduler_size);
  gyre_switch_stacks(&self->stack_pointer_, scheduler_pointer);
  enter_stack(self->sanitizer_, &scheduler_bottom, &scheduler_size);
}

// The stack may be reused at once, because only the scheduler can take it, after the switch.
void Fiber::finish() {
  Fiber* self = running;
  free_stacks.push_back(self->stack_);
  self->stack_ = nullptr;
  leave_stack(nullptr, scheduler_bottom, scheduler_size);
  gyre_switch_stacks(&self->stack_pointer_, scheduler_pointer);
  std::abort();
}

void Fiber::drop() {
  if (stack_) {
    unpoison(stack_, kStack);
    free_stacks.push_back(stack_);
  }
  stack_ = nullptr;
}

}  // namespace cuda_emulation
