// Building blocks of the rows of the op table (op_cases.h), and the parts of the table: one file per family of ops.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/autograd/ops.h"

namespace gyre::op_rows {

using Vars = std::vector<Var>;
using Ints = std::vector<int32_t>;

struct Input {
  std::string name;
  Shape shape;
  double deviation = 1, mean = 0;
  bool parameter = false;
};
Input parameter(const std::string& name, const Shape& shape, double deviation = 1, double mean = 0);

// Makes a row. The elements of each input are normal random numbers, a pure function of the names of row and input.
OpCase make_case(std::string name, const std::vector<Input>& inputs, const std::function<Var(const Vars&)>& op);
// Makes a row and appends it to `rows`.
void add_case(std::vector<OpCase>& rows, std::string name, const std::vector<Input>& inputs,
              const std::function<Var(const Vars&)>& op);

Tensor ids_tensor(const Ints& ids);
// n random ids below `limit`, with repeats.
Ints random_ids(int64_t n, uint64_t limit);

void add_matrices(std::vector<OpCase>& rows);
void add_norms(std::vector<OpCase>& rows);
void add_embeddings(std::vector<OpCase>& rows);
void add_segment_means(std::vector<OpCase>& rows);
void add_rope(std::vector<OpCase>& rows);
void add_attention(std::vector<OpCase>& rows);
void add_linear_attention(std::vector<OpCase>& rows);
void add_losses(std::vector<OpCase>& rows);
void add_composites(std::vector<OpCase>& rows);
void add_elementary(std::vector<OpCase>& rows);

}  // namespace gyre::op_rows
