// Scopes in which tests emulate bf16 products.
#pragma once

#include "gyre/core/kernels/amx.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

// Until the end of the scope, CPU kernels emulate bf16 products instead of using AVX512-BF16, AMX or ARM's FEAT_BF16,
// so that all of them support bf16 on any CPU.
class EmulatedBf16 {
 public:
  explicit EmulatedBf16(bool on = true) : before_(emulates_bf16()), amx_before_(uses_amx()) {
    emulate_bf16(on || before_);
    use_amx(amx_before_ && !on);
  }
  ~EmulatedBf16() {
    emulate_bf16(before_);
    use_amx(amx_before_);
  }
  EmulatedBf16(const EmulatedBf16&) = delete;
  EmulatedBf16& operator=(const EmulatedBf16&) = delete;

 private:
  bool before_, amx_before_;
};

// For bf16 tests that use only the best kernels: emulates bf16 products if the CPU cannot multiply bf16.
inline EmulatedBf16 bf16_on_any_cpu() { return EmulatedBf16(!cpu_kernels().has_bf16()); }

}  // namespace gyre
