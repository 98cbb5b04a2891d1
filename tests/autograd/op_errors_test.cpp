// Tests the errors of ops for invalid arguments: each begins with the name of the op and ends with the actual argument.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/ops.h"
#include "tests/errors.h"

using namespace gyre;

namespace {

struct BadCall {
  const char* op;
  const char* argument;  // what the message names, up to its end
  std::function<void()> call;
};

// These take numbers, not lists, so that a call fits on a line.
Segments lengths(auto... values) { return Segments::from_lengths({int32_t(values)...}); }
Tensor ids(auto... values) { return Tensor::from<int32_t>({sizeof...(values)}, {int32_t(values)...}); }

}  // namespace

TEST_CASE("errors of ops for invalid arguments name the op and end with the argument") {
  Tape tape{cpu_kernels(), {.training = true}};
  const auto matrix = [&](int64_t rows, int64_t cols) { return tape.leaf(Tensor::zeros({rows, cols})); };
  const auto vector = [&](int64_t n) { return tape.leaf(Tensor::zeros({n})); };
  const auto of_type = [&](DType dtype) { return tape.leaf(Tensor::zeros({2, 3}, dtype)); };
  Tape other{cpu_kernels(), {}};
  const Segments three = lengths(1, 2);
  const BadCall bad_calls[] = {
      {"linear", "expected x(n,d) and w(o,d), got (3, 4) and (2, 5)", [&] { linear(matrix(3, 4), matrix(2, 5)); }},
      {"linear", "bias must be (2), got (3)", [&] { linear(matrix(3, 4), matrix(2, 4), vector(3)); }},
      {"linear_activation", "elu_plus_one",
       [&] { linear_activation(matrix(1, 1), matrix(1, 1), vector(1), Activation::elu_plus_one, 0); }},
      {"rms_norm", "4 columns, got (3)", [&] { rms_norm(matrix(3, 4), vector(3)); }},
      {"gated_activation", "got (3, 5)", [&] { gated_activation(matrix(3, 5), Activation::silu); }},
      {"layer_norm", "gamma and beta must be (4), got (3) and (4)",
       [&] { layer_norm(matrix(3, 4), vector(3), vector(4)); }},
      {"residual_layer_norm", "(4) and (3)",
       [&] { residual_layer_norm(matrix(3, 4), matrix(3, 4), 0, vector(4), vector(3)); }},
      // Shapes of two summands.
      {"residual_dropout", "got (3, 4) and (4, 3)", [&] { residual_dropout(matrix(3, 4), matrix(4, 3), 0.1); }},
      {"residual_layer_norm", "got (3, 4) and (2, 4)",
       [&] { residual_layer_norm(matrix(3, 4), matrix(2, 4), 0, vector(4), vector(4)); }},
      // Rates of dropout.
      {"dropout", "the rate must be at least 0 and below 1, got 1", [&] { dropout(matrix(1, 1), 1); }},
      {"residual_dropout", "rate must be at least 0 and below 1, got -0.5",
       [&] { residual_dropout(matrix(1, 1), matrix(1, 1), -0.5); }},
      {"attention", "below 1, got 1.5",
       [&] { attention(matrix(1, 1), matrix(1, 2), lengths(1), lengths(1), {.dropout = 1.5}); }},
      {"residual_layer_norm", "below 1, got 2",
       [&] { residual_layer_norm(matrix(1, 1), matrix(1, 1), 2, vector(1), vector(1)); }},
      {"linear_activation", "below 1, got 1",
       [&] { linear_activation(matrix(1, 1), matrix(1, 1), vector(1), Activation::relu, 1); }},
      // Rows of a table, and segments.
      {"embedding", "table's 3 rows, got 3", [&] { embedding(matrix(3, 4), ids(0, 3)); }},
      {"embedding", "table's 3 rows, got -1", [&] { embedding(matrix(3, 4), ids(-1)); }},
      {"segment_mean", "2 rows, got (3, 4)", [&] { segment_mean(matrix(3, 4), lengths(1, 1)); }},
      {"segment_mean", "segment 1, got none", [&] { segment_mean(matrix(3, 4), lengths(3, 0)); }},
      // Rotations.
      {"rope", "dims must be even, got 7", [&] { make_rope(vector(3), 9, {.dims = 7}); }},
      {"rope", "4 frequencies, got (3)", [&] { make_rope(vector(3), 9, {.dims = 8}); }},
      {"rope", "head width 4, got 6",
       [&] { rope(matrix(1, 8), make_rope(vector(3), 9, {.heads = 2, .dims = 6}), ids(0)); }},
      {"rope", "2 heads, got (1, 13)",
       [&] { rope(matrix(1, 13), make_rope(vector(3), 9, {.heads = 2, .dims = 6}), ids(0)); }},
      {"rope", "1 positions, got 2", [&] { rope(matrix(1, 6), make_rope(vector(3), 9, {.dims = 6}), ids(0, 1)); }},
      {"rope", "9 that have angles, got 9", [&] { rope(matrix(1, 6), make_rope(vector(3), 9, {.dims = 6}), ids(9)); }},
      {"rope", "9 that have angles, got -1",
       [&] { rope(matrix(1, 6), make_rope(vector(3), 9, {.dims = 6}), ids(-1)); }},
      {"rope", "2 heads, got 1",
       [&] { self_attention(matrix(3, 12), three, {.heads = 2, .rotation = make_rope(vector(1), 2, {.dims = 2})}); }},
      {"rope", "3 positions, got 0",
       [&] {
         self_attention(matrix(3, 12), three,
                        {.heads = 2, .rotation = make_rope(vector(1), 2, {.heads = 2, .dims = 2})});
       }},
      // Attention.
      {"attention", "the width 4 must be a multiple of the 3 heads",
       [&] { attention(matrix(3, 4), matrix(3, 8), three, three, {.heads = 3}); }},
      {"attention", "got (3, 4) and (3, 6)", [&] { attention(matrix(3, 4), matrix(3, 6), three, three, {}); }},
      {"attention", "segments of keys as of queries, 2, got 1",
       [&] { attention(matrix(3, 4), matrix(2, 8), three, lengths(2), {}); }},
      {"attention", "3 queries and 3 keys, got 3 and 4",
       [&] { attention(matrix(3, 4), matrix(4, 8), three, three, {}); }},
      {"attention", "qkv(n, 3 * width), got (3, 8)", [&] { self_attention(matrix(3, 8), three, {}); }},
      {"attention", "3 heads must be a multiple of the key/value heads, got 2",
       [&] { self_attention(matrix(3, 8), three, {.heads = 3, .kv_heads = 2}); }},
      {"attention", "qkv(n, 8 * width), got (3, 12)",
       [&] { self_attention(matrix(3, 12), three, {.heads = 4, .kv_heads = 2}); }},
      {"attention", "got (3, 4), (3, 2) and (3, 4)",
       [&] { attention(matrix(3, 4), matrix(3, 2), matrix(3, 4), three, three, {}); }},
      // Losses.
      {"cross_entropy", "2 targets, got 1", [&] { cross_entropy(matrix(2, 3), ids(0)); }},
      {"cross_entropy", "vocabulary's size 3, got 3", [&] { cross_entropy(matrix(1, 3), ids(3)); }},
      {"linear_cross_entropy", "got (1, 3) and (5, 4)",
       [&] { linear_cross_entropy(matrix(1, 3), matrix(5, 4), {}, ids(0)); }},
      {"linear_cross_entropy", "2 targets, got 1",
       [&] { linear_cross_entropy(matrix(2, 3), matrix(5, 3), {}, ids(0)); }},
      {"linear_r_drop", "two passes, got 3 rows", [&] { linear_r_drop(matrix(3, 4), matrix(5, 4), {}, ids(0), 0, 5); }},
      {"linear_r_drop", "2 targets, got 4",
       [&] { linear_r_drop(matrix(4, 4), matrix(5, 4), {}, ids(0, 1, 2, 3), 0, 5); }},
      {"linear_r_drop", "a bias of shape (5), got (4)",
       [&] { linear_r_drop(matrix(2, 4), matrix(5, 4), vector(4), ids(0), 0, 5); }},
      {"squared_error", "predictions must be (n) or (n,1), got (3, 2)",
       [&] { squared_error(matrix(3, 2), Tensor::zeros({3})); }},
      {"squared_error", "3 targets, got 4", [&] { squared_error(vector(3), Tensor::zeros({4})); }},
      {"squared_error", "targets must be f32, got i32", [&] { squared_error(vector(1), ids(4)); }},
      {"margin_loss", "(2n,1), got (3)", [&] { margin_loss(vector(3), 1); }},
      {"margin_loss", "(2n,1), got (2, 2)", [&] { margin_loss(matrix(2, 2), 1); }},
      {"binary_cross_entropy", "(n,1), got (3, 2)", [&] { binary_cross_entropy(matrix(3, 2), ids(0, 1, 1)); }},
      // Elementary ops.
      {"multiply", "expected equal shapes, or a row, a column or one element, got (3, 4) and (4, 3)",
       [&] { multiply(matrix(3, 4), matrix(4, 3)); }},
      {"divide", "expected equal shapes, or a row, a column or one element, got (2, 3, 4) and (4)",
       [&] {
         divide(reshape(matrix(6, 4), {2, 3, 4}), vector(4));
       }},
      {"subtract", "every input must come from this tape",
       [&] {
         subtract(matrix(2, 3), other.leaf(Tensor::zeros({2, 3})));
       }},
      {"maximum", "expected a value, got an empty Var", [&] { maximum(matrix(2, 3), Var()); }},
      {"affine", "expected a value, got an empty Var", [&] { affine(Var(), 2, 1); }},
      {"add", "expected operands of one dtype, or bf16 with f32, got f64 and f32",
       [&] { add(of_type(DType::f64), matrix(2, 3)); }},
      {"exp", "expected f32, f64 or bf16, got i32", [&] { exp(of_type(DType::i32)); }},
      {"cast", "expected f32, f64 or bf16, got i32", [&] { cast(vector(2), DType::i32); }},
      {"matmul", "the summed axes must have one size, got (3, 4) and (3, 4)",
       [&] { matmul(matrix(3, 4), matrix(3, 4)); }},
      {"matmul", "the summed axes must have one size, got (3, 4) transposed and (2, 4) transposed",
       [&] { matmul(matrix(3, 4), matrix(2, 4), true, true); }},
      {"matmul", "expected a matrix (n,d), got (4)", [&] { matmul(vector(4), matrix(4, 2)); }},
      {"transpose", "expected a matrix (n,d), got (4)", [&] { transpose(vector(4)); }},
      {"reshape", "expected a shape of 6 elements, got (4)", [&] { reshape(matrix(2, 3), Shape{4}); }},
      {"slice", "the axis must be 0 or 1, got 2", [&] { slice(matrix(2, 3), 2, 0, 1); }},
      {"slice", "expected a range within the 3 columns of x, got 2 from 2 on", [&] { slice(matrix(2, 3), 1, 2, 2); }},
      {"slice", "expected a range within the 2 rows of x, got 2 from -1 on", [&] { slice(matrix(2, 3), 0, -1, 2); }},
      {"slice", "expected a range within the 3 columns of x, got 9223372036854775807 from 1 on",
       [&] { slice(matrix(2, 3), 1, 1, std::numeric_limits<int64_t>::max()); }},
      {"concat", "expected at least one part, got none", [&] { concat({}, 0); }},
      {"concat", "the parts must have equally many rows, got (2, 3) and (3, 3)",
       [&] {
         concat({matrix(2, 3), matrix(3, 3)}, 1);
       }},
      {"gather_rows", "expected -1 or a row of the 2 of x, got 2", [&] { gather_rows(matrix(2, 3), ids(0, 2)); }},
      {"sum", "the axis must be 0 or 1, got 2", [&] { sum(matrix(2, 3), 2); }},
      {"mean", "expected at least one element along axis 0, got (0, 3)", [&] { mean(matrix(0, 3), 0); }},
      {"max", "expected at least one element along axis 1, got (3, 0)", [&] { max(matrix(3, 0), 1); }},
      {"gather_rows", "expected an index of i32, on the CPU", [&] { gather_rows(matrix(2, 3), Tensor()); }},
      {"embedding", "expected ids of i32, on the CPU", [&] { embedding(matrix(2, 3), Tensor::zeros({2})); }},
      {"tanh", "expected a value, got an empty Var", [&] { tanh(Var()); }},
      {"tanh", "expected f32, f64 or bf16, got i32", [&] { tanh(of_type(DType::i32)); }},
      {"where", "expected a mask of i32, on the CPU",
       [&] {
         where(Tensor::zeros({2, 3}), matrix(2, 3), matrix(2, 3));
       }},
      {"masked_fill", "expected equal shapes, or a row, a column or one element, got (2, 3) and (2)",
       [&] { masked_fill(matrix(2, 3), ids(0, 1), 0); }},
      {"masked_fill", "expected a mask that is not larger than x (3), got (2, 1)",
       [&] {
         masked_fill(vector(3), ids(0, 1).reshape({2, 1}), 0);
       }},
  };
  for (const BadCall& bad : bad_calls) {
    const std::string message = error_of(bad.call);
    CAPTURE(message);
    CAPTURE(bad.argument);
    CHECK(message.starts_with(concat("[", bad.op, "] ")));
    CHECK(message.ends_with(bad.argument));
  }
}
