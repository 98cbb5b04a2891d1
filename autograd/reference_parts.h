// Small compositions of the reference's basic ops, used to build its other ops.
#pragma once

#include <vector>

#include "gyre/autograd/reference.h"

namespace gyre::reference {

// A constant matrix in the graph of `like`, with all elements equal to `fill`.
Value filled(const Value& like, int64_t rows, int64_t cols, double fill);
// A row (1,d) repeated n times: (n,d). A column (m,1) repeated n times: (m,n). Both are products with ones.
Value repeat_row(const Value& row, int64_t n);
Value repeat_column(const Value& column, int64_t n);
// The sum over the columns, (n,1), and over all elements, (1,1).
Value sum_columns(const Value& a);
Value sum_all(const Value& a);

Value exp(const Value& a);
Value log(const Value& a);
Value reciprocal(const Value& a);
Value reciprocal_root(const Value& a);
Value cosine(const Value& a);
Value sine(const Value& a);

// a minus the maximum of each row, which is treated as a constant: a shift does not change a softmax, so the gradient
// of the maximum can be omitted.
Value minus_row_maximum(const Value& a);

// Flat indices of the block (rows, cols) at (row, col) in a matrix with `width` columns.
std::vector<int64_t> block_index(int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t width);
// `sum` with the elements of `block` added to its elements with these indices.
Value add_block(const Value& sum, const Value& block, const std::vector<int64_t>& index);

}  // namespace gyre::reference
