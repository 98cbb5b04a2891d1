#pragma once

#include "core/kernels.h"

namespace gyre {

// Until the end of the scope CPU kernels multiply bf16 without AVX512-BF16: every one of them takes it, on any CPU.
class EmulatedBf16 {
 public:
  explicit EmulatedBf16(bool on = true) : before_(emulates_bf16()) { emulate_bf16(on || before_); }
  ~EmulatedBf16() { emulate_bf16(before_); }
  EmulatedBf16(const EmulatedBf16&) = delete;
  EmulatedBf16& operator=(const EmulatedBf16&) = delete;

 private:
  bool before_;
};

// For tests of bf16 that run on the best kernels alone: emulated where the CPU lacks the instruction.
inline EmulatedBf16 bf16_on_any_cpu() { return EmulatedBf16(!cpu_kernels().has_bf16()); }

}  // namespace gyre
