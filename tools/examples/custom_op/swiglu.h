// A custom op with two inputs: SwiGLU (Shazeer 2020), the gate of Llama's feed-forward block. Gyre's own op for it is
// gyre::gated_activation().
#pragma once

#include <gyre/autograd/tape.h>
#include <gyre/core/tensor.h>

#include <cmath>

namespace example {

// y = a * s * b,  s = 1 / (1 + exp(-a))
//   da = dy * b * s * (1 + a * (1 - s));  db = dy * a * s
struct Swiglu final : gyre::Op {
  std::string_view name() const override { return "swiglu"; }

  void backward(gyre::Backward& b) override {
    gyre::dispatch_float(b.doutput(), [&]<class T>(T) {
      const gyre::Tensor da = b.dinput(0), db = b.dinput(1);
      const std::span<T> gate = b.input(0).span<T>(), value = b.input(1).span<T>(), dy = b.doutput().span<T>();
      for (size_t i = 0; i < gate.size(); ++i) {
        const T s = 1 / (1 + std::exp(-gate[i]));
        if (da) da.span<T>()[i] = dy[i] * value[i] * s * (1 + gate[i] * (1 - s));
        if (db) db.span<T>()[i] = dy[i] * gate[i] * s;
      }
    });
  }
};

// a and b have the same shape and are on the CPU.
inline gyre::Var swiglu(const gyre::Var& a, const gyre::Var& b) {
  gyre::require(a.shape() == b.shape(), "[swiglu] expected inputs of the same shape, got ", a.shape(), " and ",
                b.shape());
  const gyre::Tensor y = a.value().like();
  gyre::dispatch_float(y, [&]<class T>(T) {
    const std::span<T> gate = a.value().span<T>(), value = b.value().span<T>(), out = y.span<T>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * value[i];
  });
  return a.tape().record(std::make_unique<Swiglu>(), y, {a, b});
}

}  // namespace example
