// Building blocks of the rows of the op table (op_cases.h), and the parts of the table: one file per family of ops.
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/autograd/ops.h"

namespace gyre::op_rows {

using reference::Value;
using Vars = std::vector<Var>;
using Values = std::vector<Value>;
using Ints = std::vector<int32_t>;

struct Input {
  std::string name;
  Shape shape;
  double deviation = 1, mean = 0;
  bool parameter = false;
};
Input parameter(const std::string& name, const Shape& shape, double deviation = 1, double mean = 0);

// Makes a row. The elements of each input are normal random numbers, a pure function of the names of row and input.
OpCase make_case(std::string name, const std::vector<Input>& inputs, TapeFunction op, OpCase::Reference reference);

Tensor ids_tensor(const Ints& ids);
// n random ids below `limit`, with repeats.
Ints random_ids(int64_t n, uint64_t limit);
// The first dropout mask that a tape with kOpCaseTape draws.
DropoutMask first_mask(double rate);

void add_matrices(std::vector<OpCase>& rows);
void add_norms(std::vector<OpCase>& rows);
void add_embeddings(std::vector<OpCase>& rows);
void add_segment_means(std::vector<OpCase>& rows);
void add_rope(std::vector<OpCase>& rows);
void add_attention(std::vector<OpCase>& rows);
void add_linear_attention(std::vector<OpCase>& rows);
void add_losses(std::vector<OpCase>& rows);
void add_composites(std::vector<OpCase>& rows);

}  // namespace gyre::op_rows
