// Small compositions of the reference's basic ops, which its ops are written in.
#pragma once

#include <vector>

#include "autograd/reference.h"

namespace gyre::reference {

// A constant, in the graph of `like`.
Value filled(const Value& like, int64_t rows, int64_t cols, double fill);
// A row, n times; a column, n times: products with ones.
Value repeat_row(const Value& row, int64_t n);
Value repeat_column(const Value& column, int64_t n);
// (n,1): the sum of each row; (1,1): the sum of all.
Value sum_columns(const Value& a);
Value sum_all(const Value& a);

Value exp(const Value& a);
Value log(const Value& a);
Value reciprocal(const Value& a);
Value reciprocal_root(const Value& a);
Value cosine(const Value& a);
Value sine(const Value& a);

// a - (the largest of each row). A shift by a constant: it changes no softmax, so its gradient may be left out.
Value minus_row_maximum(const Value& a);

// Where the block (rows, cols) at (row, col) of a matrix with `width` columns lies in it.
std::vector<int64_t> block_index(int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t width);
// The sum with a block added to the elements of that index.
Value add_block(const Value& sum, const Value& block, const std::vector<int64_t>& index);

}  // namespace gyre::reference
