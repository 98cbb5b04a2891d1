// A scope with or without Intel AMX, for tests. On CPUs without AMX its instructions are emulated.
#pragma once

namespace gyre {

// Until the end of the scope, bf16 products of the kernels for AVX-512 use AMX, or do not use it. If the CPU lacks it,
// a handler of SIGILL decodes and emulates each instruction, so that the tests run the machine code of the product.
class AmxInScope {
 public:
  explicit AmxInScope(bool on = true);
  ~AmxInScope();
  AmxInScope(const AmxInScope&) = delete;
  AmxInScope& operator=(const AmxInScope&) = delete;

 private:
  bool before_, emulates_;
};

}  // namespace gyre
