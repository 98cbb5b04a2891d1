// Checks of the operands of elementary ops, and the shape and the dtype of their result.
#pragma once

#include <initializer_list>
#include <limits>
#include <string_view>

#include "gyre/autograd/tape.h"

namespace gyre {

// Throws an Error with the name of the op unless all operands are numbers on one tape.
inline void require_operands(std::string_view op, std::initializer_list<Var> operands) {
  for (const Var& v : operands) {
    require(bool(v), "[", op, "] expected a value, got an empty Var");
    require(&v.tape() == &operands.begin()->tape(), "[", op, "] every input must come from this tape");
    require(v.value().dtype() != DType::i32, "[", op, "] expected f32, f64 or bf16, got i32");
  }
}

// Throws unless a mask or an index is i32, on the CPU, and small enough for its elements to be counted by 32-bit
// integers.
inline void require_integers(std::string_view op, std::string_view what, const Tensor& integers) {
  require(integers.defined() && integers.dtype() == DType::i32 && integers.device() == Device{}, "[", op, "] expected ",
          what, " of i32, on the CPU");
  require(integers.size() <= std::numeric_limits<int32_t>::max(), "[", op, "] expected at most 2^31 - 1 elements of ",
          what, ", got ", integers.size());
}

inline void require_matrix(std::string_view op, const Var& x) {
  require(x.shape().rank() == 2, "[", op, "] expected a matrix (n,d), got ", x.shape());
}

// The dtype of the result of two operands: bf16 if one of them is bf16 and the other f32.
inline DType dtype_of_pair(std::string_view op, DType a, DType b) {
  if (a == b) return a;
  require(a != DType::f64 && b != DType::f64, "[", op, "] expected operands of one dtype, or bf16 with f32, got ", a,
          " and ", b);
  return DType::bf16;
}

// The shape of the result of two operands, one of which may be a row, a column or a single element.
inline Shape broadcast_shape(std::string_view op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  const auto is_element = [](const Shape& s) { return s.rank() <= 2 && s.elements() == 1; };
  if (is_element(a) && b.rank() >= a.rank()) return b;
  if (is_element(b) && a.rank() >= b.rank()) return a;
  // The size of an axis of a matrix; -1 if it is one size in a and another in b.
  const auto size = [&](int axis) -> int64_t {
    const auto in = [&](const Shape& s) { return axis == 1 ? s[-1] : s.rank() == 2 ? s[0] : 1; };
    return in(a) == in(b) || in(b) == 1 ? in(a) : in(a) == 1 ? in(b) : -1;
  };
  require(a.rank() >= 1 && b.rank() >= 1 && a.rank() <= 2 && b.rank() <= 2 && size(0) >= 0 && size(1) >= 0, "[", op,
          "] expected equal shapes, or a row, a column or one element, got ", a, " and ", b);
  return {size(0), size(1)};
}

}  // namespace gyre
