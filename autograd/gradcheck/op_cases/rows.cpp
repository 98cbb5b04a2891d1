#include "gyre/autograd/gradcheck/op_cases/rows.h"

#include <utility>

#include "gyre/core/random.h"

namespace gyre::op_rows {
namespace {

Tensor make_input(const std::string& row, const Input& input) {
  Tensor t = normal_tensor(input.shape, DType::f64, hash_name(row), hash_name(input.name));
  for (double& x : t.span<double>()) x = input.mean + input.deviation * x;
  return t;
}

}  // namespace

Input parameter(const std::string& name, const Shape& shape, double deviation, double mean) {
  return {name, shape, deviation, mean, true};
}

OpCase make_case(std::string name, const std::vector<Input>& inputs, const std::function<Var(const Vars&)>& op) {
  OpCase row{std::move(name), {}, {}, [op](Tape&, const Vars& in) { return op(in); }};
  for (const Input& input : inputs) {
    row.inputs.push_back({input.name, make_input(row.name, input)});
    row.parameters.push_back(input.parameter);
  }
  return row;
}

void add_case(std::vector<OpCase>& rows, std::string name, const std::vector<Input>& inputs,
              const std::function<Var(const Vars&)>& op) {
  rows.push_back(make_case(std::move(name), inputs, op));
}

Tensor ids_tensor(const Ints& ids) { return Tensor::from<int32_t>({int64_t(ids.size())}, ids); }

Ints random_ids(int64_t n, uint64_t limit) {
  RandomStream random(uint64_t(n), limit);
  Ints ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(int32_t(random.below(limit)));
  return ids;
}

}  // namespace gyre::op_rows
