// The elementary differentiable ops: arithmetic, functions of an element, matrix products, shapes, sums over an axis.
// Formulas of one's own are written with them, and so is the composed definition of every fused op, in the op's file in
// autograd/ops. Each has a hand-written backward, and runs on every backend in f32, f64 and bf16.
//
// Shapes: a matrix is (n,d), n rows of d columns; a vector (d) is a matrix of one row. No op has strides.
// Broadcasting: two operands have the same shape, or one of them is a row (d) or (1,d), a column (n,1), or a single
// element (1) or (1,1), and is repeated. The result has the shape of the other operand; a row and a column give (n,d).
// Dtypes: if one operand is bf16, the result is bf16; the other may be an f32 parameter. Sums are computed in fp32, or
// in f64 for f64.
// Every op throws an Error that begins with its name if shapes, dtypes or tapes do not match. NaN and infinities follow
// IEEE 754, as in PyTorch, except that relu multiplies an infinite gradient by its derivative 0, which gives NaN.
// A mask or an index must not change after its op: backward reads it, and GPUs keep a copy.
#pragma once

#include <cstdint>
#include <vector>

#include "gyre/autograd/tape.h"

namespace gyre {

// ---- Arithmetic ----------------------------------------------------------------------------------------------------

Var add(const Var& a, const Var& b);
Var subtract(const Var& a, const Var& b);
Var multiply(const Var& a, const Var& b);
Var divide(const Var& a, const Var& b);
// The larger of each pair. If they are equal, each receives half of the gradient, as in PyTorch.
Var maximum(const Var& a, const Var& b);

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator-(const Var& a, const Var& b) { return subtract(a, b); }
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }
inline Var operator/(const Var& a, const Var& b) { return divide(a, b); }

// factor * x + offset
Var affine(const Var& x, double factor, double offset);
inline Var scale(const Var& x, double factor) { return affine(x, factor, 0); }
inline Var operator-(const Var& x) { return scale(x, -1); }
inline Var operator*(double factor, const Var& x) { return scale(x, factor); }
inline Var operator*(const Var& x, double factor) { return scale(x, factor); }
// Quotients with a number are products with a rounded reciprocal, which may differ from the quotient in the last bit.
inline Var operator/(const Var& x, double divisor) { return scale(x, 1 / divisor); }
inline Var operator+(const Var& x, double offset) { return affine(x, 1, offset); }
inline Var operator+(double offset, const Var& x) { return affine(x, 1, offset); }
inline Var operator-(const Var& x, double offset) { return affine(x, 1, -offset); }
inline Var operator-(double offset, const Var& x) { return affine(x, -1, offset); }

// ---- Functions of one element --------------------------------------------------------------------------------------

Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);
Var sin(const Var& x);
Var cos(const Var& x);
Var erf(const Var& x);
Var tanh(const Var& x);     // activation() with Activation::tanh
Var relu(const Var& x);     // max(x, 0); the gradient at 0 is 0
Var sigmoid(const Var& x);  // 1 / (1 + exp(-x))
// x^exponent
Var pow(const Var& x, double exponent);
inline Var operator/(double dividend, const Var& x) { return scale(pow(x, -1), dividend); }

// ---- Matrix products -----------------------------------------------------------------------------------------------

// op(a) op(b): op transposes the operand if its flag is set. a and b are matrices.
Var matmul(const Var& a, const Var& b, bool transpose_a = false, bool transpose_b = false);
// (d,n) from x(n,d).
Var transpose(const Var& x);

// ---- Shapes and rows -----------------------------------------------------------------------------------------------

// The elements of x in the same order in another shape, without a copy.
Var reshape(const Var& x, Shape shape);
// Rows (axis 0) or columns (axis 1) first .. first + count - 1 of x(n,d).
Var slice(const Var& x, int axis, int64_t first, int64_t count);
// The parts one after another along rows (axis 0) or columns (axis 1).
Var concat(const std::vector<Var>& parts, int axis);
// Without it, an axis of this type would select concat() of core/error.h.
inline Var concat(const std::vector<Var>& parts, int64_t axis) { return concat(parts, int(axis)); }
// (rows,d) = x(n,d)[index], in the dtype of x; index: i32 (rows), in any order, with repeats. An index of -1 gives a
// row of zeros.
Var gather_rows(const Var& x, const Tensor& index);

// ---- Sums over an axis ---------------------------------------------------------------------------------------------

// Axis 0: over the rows, (1,d). Axis 1: over the columns, (n,1). The axis keeps its place, so that the result can be
// broadcast against x.
Var sum(const Var& x, int axis);
Var mean(const Var& x, int axis);
// The gradient is shared equally by all elements that are the largest, as in torch.amax: also by infinities. If an
// element is NaN, the result is, and so is the gradient of every element along the axis.
Var max(const Var& x, int axis);
// The sum of all elements, (1).
Var sum(const Var& x);
// Softmax over the columns of each row, and its logarithm.
Var softmax(const Var& x);
Var log_softmax(const Var& x);

// ---- Choice --------------------------------------------------------------------------------------------------------

// a where mask is not 0, else b. mask, i32 on the CPU, is a constant in the shape of the result, or broadcast to it;
// a and b are broadcast too.
Var where(const Tensor& mask, const Var& a, const Var& b);
// x, or `value` where mask is not 0.
Var masked_fill(const Var& x, const Tensor& mask, double value);

// ---- Precision -----------------------------------------------------------------------------------------------------

// x in another dtype; its gradient has the dtype of x.
Var cast(const Var& x, DType dtype);

// x, and its gradient, as a bf16 tensor would store them: rounded to bf16, in the dtype of x. The composed definitions
// call it where a fused op stores a tensor; it does nothing unless x is f64 on a tape for bf16, which is how tests
// compute the exact result of an op in bf16. Where an op stores one of both in bf16, only that one is rounded.
enum class Stored : uint8_t { value_and_gradient, value, gradient };
Var as_stored(const Var& x, Stored what = Stored::value_and_gradient);

}  // namespace gyre
